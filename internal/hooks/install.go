package hooks

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Styles of hooks_style: how a program gets the hooks of one session.
const (
	ByClaude   = "claude"   // --settings JSON or FILE
	ByQwen     = "qwen"     // QWEN_CODE_SYSTEM_SETTINGS_PATH, a file
	ByCodex    = "codex"    // -c notify=[…]
	ByPi       = "pi"       // -e FILE, an extension
	ByOpenCode = "opencode" // OPENCODE_CONFIG_CONTENT with a plugin, a file
)

// Styles returns the values of hooks_style.
func Styles() []string { return []string{ByClaude, ByQwen, ByCodex, ByPi, ByOpenCode} }

// The files that programs load.
var (
	//go:embed pi.ts
	PiExtension []byte
	//go:embed opencode.js
	OpenCodePlugin []byte
)

// settingsEvents are the events that Settings asks for, and the seconds that the program
// waits for gc.
var settingsEvents = []string{"UserPromptSubmit", "PermissionRequest", "Stop", "StopFailure"}

const settingsTimeout = 5

// command is gc report as the hook of an agent, for a shell. GC_BIN is this gc, on
// whatever machine the session is.
func command(agent string) string { return `"${GC_BIN:-gc}" report --hook ` + agent }

var errSettings = errors.New("the settings are not a JSON object with hooks as it has them")

// Settings returns the settings of claude or qwen with gc's hooks added to those in own,
// which is nil or JSON. The rest of own is unchanged.
func Settings(agent string, own []byte) ([]byte, error) {
	all := map[string]json.RawMessage{}
	events := map[string]json.RawMessage{}
	if len(own) > 0 {
		if err := json.Unmarshal(own, &all); err != nil || all == nil {
			return nil, errSettings
		}
	}
	if h, ok := all["hooks"]; ok {
		if err := json.Unmarshal(h, &events); err != nil || events == nil {
			return nil, errSettings
		}
	}
	type call struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
	}
	type matcher struct {
		Hooks []call `json:"hooks"`
	}
	ours, err := json.Marshal(matcher{[]call{{"command", command(agent), settingsTimeout}}})
	if err != nil {
		return nil, err
	}
	for _, event := range settingsEvents {
		var list []json.RawMessage
		if theirs, ok := events[event]; ok {
			if err := json.Unmarshal(theirs, &list); err != nil {
				return nil, fmt.Errorf("%w: %s", errSettings, event)
			}
		}
		if events[event], err = json.Marshal(append(slices.Clip(list), ours)); err != nil {
			return nil, err
		}
	}
	if all["hooks"], err = json.Marshal(events); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// CodexNotify returns the value of codex's notify: a program and its arguments, to which
// codex adds its JSON.
func CodexNotify() []string {
	return []string{"/bin/sh", "-c", `exec ` + command("codex") + ` "$@"`, "gc"}
}

// CodexScript returns a script for codex's notify that calls the hook and then own, the
// user's program and its arguments in shell words, to which codex adds its JSON; "": none.
func CodexScript(own string) []byte {
	text := "for json; do :; done\n" + command("codex") + ` "$json"` + "\n"
	if own != "" {
		text += "exec " + own + ` "$@"` + "\n"
	}
	return []byte(text)
}

// WithPlugin returns the configuration of OpenCode in own, "" or JSON, with a plugin added.
func WithPlugin(own, file string) (string, error) {
	all := map[string]json.RawMessage{}
	var plugins []json.RawMessage
	if own != "" && (json.Unmarshal([]byte(own), &all) != nil || all == nil) {
		return "", errSettings
	}
	if p, ok := all["plugin"]; ok && json.Unmarshal(p, &plugins) != nil {
		return "", fmt.Errorf("%w: plugin", errSettings)
	}
	ours, err := json.Marshal("file://" + file)
	if err != nil {
		return "", err
	}
	if all["plugin"], err = json.Marshal(append(plugins, ours)); err != nil {
		return "", err
	}
	out, err := json.Marshal(all)
	return string(out), err
}
