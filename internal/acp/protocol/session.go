package protocol

import (
	"encoding/json"
	"maps"
	"slices"
)

// NewSessionRequest begins a session.
type NewSessionRequest struct {
	Cwd        string      `json:"cwd"` // absolute
	MCPServers []MCPServer `json:"mcpServers"`
}

// MarshalJSON writes the list of servers even if it is nil: agents require it.
func (r NewSessionRequest) MarshalJSON() ([]byte, error) {
	type plain NewSessionRequest
	if r.MCPServers == nil {
		r.MCPServers = []MCPServer{}
	}
	return json.Marshal(plain(r))
}

// SessionRequest names a session: to load or resume it, with everything, or to close
// it, with nothing but its id.
type SessionRequest struct {
	SessionID  string      `json:"sessionId"`
	Cwd        string      `json:"cwd,omitempty"`
	MCPServers []MCPServer `json:"mcpServers,omitzero"` // not nil to load or resume
}

// MCPServer is a server of the Model Context Protocol for the agent.
type MCPServer struct {
	Name string
	Type string // stdio, also as "", http, sse

	Command string // stdio
	Args    []string
	Env     map[string]string

	URL     string // http, sse
	Headers map[string]string
}

// MarshalJSON writes the form of the server's type.
func (s MCPServer) MarshalJSON() ([]byte, error) {
	if s.Type == "http" || s.Type == "sse" {
		return json.Marshal(struct {
			Type    string `json:"type"`
			Name    string `json:"name"`
			URL     string `json:"url"`
			Headers []pair `json:"headers"`
		}{s.Type, s.Name, s.URL, pairs(s.Headers)})
	}
	return json.Marshal(struct {
		Name    string   `json:"name"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Env     []pair   `json:"env"`
	}{s.Name, s.Command, append([]string{}, s.Args...), pairs(s.Env)})
}

// pair is an environment variable or a header.
type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// pairs returns the map as a list in the order of the names, never nil.
func pairs(m map[string]string) []pair {
	out := []pair{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, pair{name, m[name]})
	}
	return out
}

// SessionResult answers session/new, session/load and session/resume. Only the first
// always has a session id.
type SessionResult struct {
	SessionID     string             `json:"sessionId"`
	Modes         *ModeState         `json:"modes"`
	Models        *ModelState        `json:"models"`
	ConfigOptions List[ConfigOption] `json:"configOptions"`
}

// ModeState is the modes of a session, in the form that configuration options
// replace.
type ModeState struct {
	Current   string     `json:"currentModeId"`
	Available List[Mode] `json:"availableModes"`
}

// Mode is a mode of a session.
type Mode struct{ ID, Name, Description string }

func (m Mode) complete() bool { return m.ID != "" }

// ModelState is the models of a session, in a form that is vanishing.
type ModelState struct {
	Current   string      `json:"currentModelId"`
	Available List[Model] `json:"availableModels"`
}

// Model is a model.
type Model struct {
	ID          string `json:"modelId"`
	Name        string
	Description string
}

func (m Model) complete() bool { return m.ID != "" }

// Categories of configuration options.
const (
	CategoryMode  = "mode"
	CategoryModel = "model"
)

// ConfigOption is a setting of a session.
type ConfigOption struct {
	ID, Name, Description string
	Category              string // mode, model, or any other
	Type                  string // select, boolean, or any other
	Value                 string // the present one; "true" or "false" of a boolean
	Choices               List[ConfigChoice]
}

// ConfigChoice is a value of a ConfigOption.
type ConfigChoice struct{ Value, Name, Description string }

func (c ConfigChoice) complete() bool { return c.Value != "" }

func (o ConfigOption) complete() bool { return o.ID != "" }

// UnmarshalJSON never fails. Groups of choices become one list.
func (o *ConfigOption) UnmarshalJSON(raw []byte) error {
	type entry struct {
		Value, Name, Description string
		Options                  List[ConfigChoice] // of a group
	}
	var w struct {
		ID, Name, Description, Category, Type string
		CurrentValue                          json.RawMessage
		Options                               List[entry]
	}
	lenient(raw, &w)
	*o = ConfigOption{ID: w.ID, Name: w.Name, Description: w.Description, Category: w.Category, Type: w.Type}
	switch string(w.CurrentValue) {
	case "true", "false":
		o.Value = string(w.CurrentValue)
	default:
		lenient(w.CurrentValue, &o.Value)
	}
	for _, e := range w.Options {
		if e.Value != "" {
			o.Choices = append(o.Choices, ConfigChoice{e.Value, e.Name, e.Description})
		}
		o.Choices = append(o.Choices, e.Options...)
	}
	return nil
}

// SetModeRequest sets the mode of a session. The agent need not send an update.
type SetModeRequest struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

// SetModelRequest sets the model of a session, where the agent has no option for it.
type SetModelRequest struct {
	SessionID string `json:"sessionId"`
	ModelID   string `json:"modelId"`
}

// SetConfigOptionRequest sets an option of the type select.
type SetConfigOptionRequest struct {
	SessionID string `json:"sessionId"`
	ConfigID  string `json:"configId"`
	Value     string `json:"value"`
}

// ConfigResult answers session/set_config_option with all options.
type ConfigResult struct {
	ConfigOptions List[ConfigOption] `json:"configOptions"`
}
