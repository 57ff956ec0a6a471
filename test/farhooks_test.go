//go:build e2e

package e2e

import (
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// TestHooksOnAnotherMachine: agents there get the hooks that gc installs, in flags, variables
// and files of their work directory, and what the hooks report is known here. So is what
// gc report says there.
func TestHooksOnAnotherMachine(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin})
	// Each of them finds its hooks as the real one does, and calls them.
	for name, text := range map[string]string{
		"claude": `while [ "$1" != --settings ]; do shift; done
printf %s "$2" >~/claude.settings
echo '{"hook_event_name":"UserPromptSubmit"}' >~/call
"$GC_BIN" report --hook claude <~/call
`,
		"pi": `while [ "$1" != -e ]; do shift; done
stat -c %a "$2" >~/pi.mode
grep -q 'pi.on("agent_end"' "$2" && "$GC_BIN" report --hook pi '{"event":"working"}'
`,
		"opencode": `plugin=${OPENCODE_CONFIG_CONTENT#*file://}
grep -q 'session.idle' "${plugin%%\"*}" && "$GC_BIN" report --hook opencode '{"event":"working"}'
`,
		"qwen": `cat "$QWEN_CODE_SYSTEM_SETTINGS_PATH" >~/qwen.settings
stat -c %a "$QWEN_CODE_SYSTEM_SETTINGS_PATH" >~/qwen.mode
echo '{"hook_event_name":"UserPromptSubmit"}' | "$GC_BIN" report --hook qwen
`,
		"codex": `while case $1 in notify=*) false;; esac do shift; done
script=${1#*'"/bin/sh","'}
/bin/sh "${script%'"]'}" '{"type":"agent-turn-complete","last-assistant-message":"that is all"}'
`,
		"worker": `"$GC_BIN" report working -m 'by hand'
`,
	} {
		far.Write(".local/bin/"+name, "#!/bin/sh\n"+text+"printf 'ready> '\nread -r end\n", 0o755)
	}
	// What these two have there stays.
	far.Write("qwen.json", `{"theirs": 7, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}`, 0o600)
	far.Write(".codex/config.toml", "model = \"x\"\nnotify = [\""+far.Home+"/notified\", \"-n\"]\n", 0o600)
	far.Write("notified", "#!/bin/sh\nprintf '%s\\n' \"$@\" >~/notify.args\n", 0o755)
	c := newCity(t, "")
	config := hostDaemon
	for name, lines := range map[string]string{"claude": "provider = \"claude\"", "pi": "provider = \"pi\"", "opencode": "provider = \"opencode\"",
		"qwen": "provider = \"qwen\"\nenv = { QWEN_CODE_SYSTEM_SETTINGS_PATH = \"" + far.Home + "/qwen.json\" }", "codex": "provider = \"codex\"",
		"worker": "start_command = \"worker\""} {
		config += "[[agents]]\nname = \"" + name + "\"\n" + lines + "\nsession = \"" + far.URL() + "\"\nwork_dir = \"" + far.Home + "/" + name + "-work\"\nready_prompt_prefix = \"ready> \"\nready_delay_ms = 0\n"
	}
	c.write(config)
	c.env = append(c.env, "GC_SSH="+far.SSH())
	c.gc("start", c.path)
	for name, because := range map[string]string{
		"claude": "claude UserPromptSubmit: state=working", "pi": "pi working: state=working",
		"opencode": "opencode working: state=working", "worker": "gc report: state=working msg=by hand",
		"qwen": "qwen UserPromptSubmit: state=working", "codex": "codex agent-turn-complete: state=done msg=that is all",
	} {
		got := ""
		eventually(t, func() string { return name + " is not known to work:\n" + got }, func() bool {
			got = c.gc("--city", c.path, "explain", name)
			return strings.Contains(got, "because   hook: "+because)
		})
	}
	c.becomes(map[string]cityapi.State{"claude": run, "pi": run, "opencode": run, "qwen": run, "codex": run, "worker": run})
	if mode := far.Run("cat pi.mode"); mode != "600\n" {
		t.Errorf("the mode of pi's file is %s", mode)
	}
	if own := far.Run("cat qwen.settings; cat qwen.mode"); !strings.Contains(own, "report --hook qwen") || !strings.Contains(own, `"theirs":7`) || !strings.Contains(own, `"command":"true"`) || !strings.HasSuffix(own, "600\n") {
		t.Errorf("qwen's settings: %s", own)
	}
	if args := far.Run("cat notify.args"); args != "-n\n{\"type\":\"agent-turn-complete\",\"last-assistant-message\":\"that is all\"}\n" {
		t.Errorf("codex's own notify got %q", args)
	}
	if own := far.Run("cat claude.settings"); !strings.Contains(own, "report --hook claude") || strings.Contains(own, c.path) {
		t.Errorf("claude's settings: %s", own)
	}
}
