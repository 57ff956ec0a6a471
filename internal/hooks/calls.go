package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Call is what a call of a hook means.
type Call struct {
	Hook    string // the agent and its event, such as "claude Stop"
	State   string // as of gc report; "": it says nothing about the agent's state
	Kind    string // of a blocked agent
	Message string
}

// meaning is what an event of an agent means.
type meaning struct {
	state, kind string
	message     string // the field with the message
}

// Agents that call commands with JSON, the field that names the event, and the events
// that count. Others say too little: a tool also runs in a turn that is being cancelled,
// a notification comes late, a start is not the end of starting.
var (
	claudeEvents = map[string]meaning{
		"UserPromptSubmit":  {state: "working"},
		"PermissionRequest": {state: "blocked", kind: "permission"},
		"Stop":              {state: "done", message: "last_assistant_message"},
		"StopFailure":       {state: "error", message: "error"},
	}
	vendors = map[string]struct {
		name   string
		events map[string]meaning
	}{
		"claude": {"hook_event_name", claudeEvents},
		"qwen":   {"hook_event_name", claudeEvents},
		"gemini": {"hook_event_name", map[string]meaning{
			"BeforeAgent":  {state: "working"},
			"Notification": {state: "blocked", kind: "permission", message: "message"},
			"AfterAgent":   {state: "done", message: "prompt_response"},
		}},
		"codex": {"type", map[string]meaning{
			"agent-turn-complete": {state: "done", message: "last-assistant-message"},
		}},
		// These are ours, in the plugin and the extension that gc installs.
		"opencode": {"event", ownEvents},
		"pi":       {"event", ownEvents},
	}
	ownEvents = map[string]meaning{
		"working": {state: "working"},
		"blocked": {state: "blocked", kind: "permission", message: "message"},
		"done":    {state: "done", message: "message"},
		"error":   {state: "error", message: "message"},
	}
)

// Vendors returns the agents whose hooks are known, sorted.
func Vendors() []string {
	var out []string
	for name := range vendors {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Parse returns the meaning of what an agent gave to a hook: a JSON object, whose end may
// be missing. An event that is not known, or does not count, has no state.
func Parse(vendor string, input []byte) (Call, error) {
	v, ok := vendors[vendor]
	if !ok {
		return Call{}, fmt.Errorf("hook %q: must be one of %s", vendor, strings.Join(Vendors(), ", "))
	}
	fields := fieldsOf(input)
	event := text(fields[v.name])
	if event == "" {
		return Call{}, fmt.Errorf("hook %s: the input has no %s", vendor, v.name)
	}
	c := Call{Hook: vendor + " " + event}
	m, ok := v.events[event]
	if !ok || event == "Notification" && text(fields["notification_type"]) != "ToolPermission" {
		return c, nil
	}
	c.State, c.Kind, c.Message = m.state, m.kind, text(fields[m.message])
	if event == "PermissionRequest" {
		c.Message = toolCall(fields)
	}
	return c, nil
}

// toolCall describes the tool that an agent wants to use.
func toolCall(fields map[string]json.RawMessage) string {
	name, input := text(fields["tool_name"]), fieldsOf(fields["tool_input"])
	for _, key := range []string{"command", "file_path", "url", "path"} {
		if what := text(input[key]); what != "" {
			return strings.TrimSpace(name + ": " + what)
		}
	}
	return name
}

// fieldsOf returns the fields of an object up to the first that is not whole.
func fieldsOf(input []byte) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(input))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fields
	}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			break
		}
		fields[name] = value
	}
	return fields
}

// text returns a JSON string; "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
