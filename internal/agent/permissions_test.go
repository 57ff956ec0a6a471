package agent

import (
	"testing"

	"gascity.dev/gc/runtime"
)

// Older versions started the presets without permission checks. Not gemini: in a directory that
// it did not trust it asked all the same, and the next start mends that.
func TestSessionsOfAnOlderGcAreCurrent(t *testing.T) {
	dir := t.TempDir()
	for preset, old := range map[string]runtime.Config{
		"claude":   {Command: "claude --dangerously-skip-permissions --model x"},
		"codex":    {Command: "codex --dangerously-bypass-approvals-and-sandbox --model x"},
		"cursor":   {Command: "cursor-agent -f --model x"},
		"copilot":  {Command: "copilot --yolo --model x"},
		"amp":      {Command: "amp --dangerously-allow-all --no-ide --model x"},
		"opencode": {Command: "opencode --model x", Env: map[string]string{"OPENCODE_PERMISSION": `{"*":"allow"}`}},
		"auggie":   {Command: "auggie --allow-indexing --model x"},
		"pi":       {Command: "pi --model x"},
		"qwen":     {Command: "qwen --model x"},
	} {
		const agent = "[[agents]]\nname = \"a\"\nargs = [\"--model\", \"x\"]\nprovider = "
		s := specs(t, dir, agent+`"`+preset+"\"\n")[0]
		core := runtime.CoreHash(old)
		if !s.Current(core) {
			t.Errorf("%s: a session of %q is out of date", preset, old.Command)
		}
		if s.Current(runtime.CoreHash(runtime.Config{Command: s.Config.Command + " --more"})) {
			t.Errorf("%s: a session with other args is current", preset)
		}
	}
}

func TestPermissionsOfARunningSession(t *testing.T) {
	dir := t.TempDir()
	const text = "[[agents]]\nname = \"a\"\nprovider = \"claude\"\n"
	s := specs(t, dir, text)[0]
	if level, unchecked := s.Permissions(s.Hashes.Core); level != "ask" || unchecked {
		t.Errorf("as config says: %s, %v", level, unchecked)
	}
	bypass := runtime.CoreHash(runtime.Config{Command: "claude --dangerously-skip-permissions"})
	if level, unchecked := s.Permissions(bypass); level != "bypass" || !unchecked {
		t.Errorf("a session of before: %s, %v", level, unchecked)
	}
	if own := specs(t, dir, text+"permissions = \"ask\"\n")[0]; own.Current(bypass) || own.Hashes != s.Hashes {
		t.Error("a level that the agent itself sets is part of its config")
	}
}
