package protocol

import (
	"encoding/json"
	"strings"
)

// InitializeRequest begins a connection.
type InitializeRequest struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientInfo         Implementation     `json:"clientInfo"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
}

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// ClientCapabilities are the requests that the client supports.
type ClientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal    bool `json:"terminal"`
	Elicitation struct {
		Form struct{} `json:"form"`
	} `json:"elicitation"`
	Session struct {
		ConfigOptions struct {
			Boolean struct{} `json:"boolean"`
		} `json:"configOptions"`
	} `json:"session"`
}

// Initialize returns the request of this version of gc, with files and terminals if
// they are on.
func Initialize(version string, files, terminals bool) InitializeRequest {
	r := InitializeRequest{
		ProtocolVersion: Version,
		ClientInfo:      Implementation{Name: "gc", Title: "gc", Version: version},
	}
	c := &r.ClientCapabilities
	c.FS.ReadTextFile, c.FS.WriteTextFile, c.Terminal = files, files, terminals
	return r
}

// ProtocolVersion is the version in an agent's answer, as it came.
type ProtocolVersion string

// UnmarshalJSON never fails.
func (v *ProtocolVersion) UnmarshalJSON(raw []byte) error {
	*v = ProtocolVersion(raw)
	return nil
}

// Number returns the version, -1 if it is not an integer.
func (v ProtocolVersion) Number() int {
	n := -1
	if isNull([]byte(v)) || json.Unmarshal([]byte(v), &n) != nil {
		return -1
	}
	return n
}

func (v ProtocolVersion) String() string {
	if v == "" {
		return "(none)"
	}
	return oneLine(string(v), 40)
}

// InitializeResult is the agent's name, version and capabilities.
type InitializeResult struct {
	ProtocolVersion ProtocolVersion
	Info            Implementation
	AuthMethods     List[AuthMethod]

	Load     bool // session/load
	Resume   bool // session/resume
	Close    bool // session/close
	Image    bool // images in prompts
	Embedded bool // embedded resources in prompts
	HTTP     bool // MCP servers over HTTP
	SSE      bool // and over server-sent events
	Steering bool // _session/steering
}

// UnmarshalJSON never fails.
func (r *InitializeResult) UnmarshalJSON(raw []byte) error {
	var w struct {
		ProtocolVersion   ProtocolVersion
		AgentInfo         Implementation
		AuthMethods       List[AuthMethod]
		AgentCapabilities struct {
			LoadSession         offered
			SessionCapabilities struct{ Resume, Close offered }
			PromptCapabilities  struct{ Image, EmbeddedContext offered }
			MCPCapabilities     struct{ HTTP, SSE offered }
		}
		Meta struct {
			Steering struct{ Supported offered }
		} `json:"_meta"`
	}
	lenient(raw, &w)
	c := w.AgentCapabilities
	*r = InitializeResult{
		ProtocolVersion: w.ProtocolVersion, Info: w.AgentInfo, AuthMethods: w.AuthMethods,
		Load:   bool(c.LoadSession),
		Resume: bool(c.SessionCapabilities.Resume), Close: bool(c.SessionCapabilities.Close),
		Image: bool(c.PromptCapabilities.Image), Embedded: bool(c.PromptCapabilities.EmbeddedContext),
		HTTP: bool(c.MCPCapabilities.HTTP), SSE: bool(c.MCPCapabilities.SSE),
		Steering: bool(w.Meta.Steering.Supported),
	}
	return nil
}

// Name returns the agent's name and version, "" if it does not say.
func (r InitializeResult) Name() string {
	name := r.Info.Title
	if name == "" {
		name = r.Info.Name
	}
	return oneLine(strings.TrimSpace(name+" "+r.Info.Version), 100)
}

// Methods returns one line for each way to authenticate.
func (r InitializeResult) Methods() []string {
	var out []string
	for _, m := range r.AuthMethods {
		out = append(out, m.String())
	}
	return out
}

// AuthMethod is a way to authenticate.
type AuthMethod struct {
	ID, Name  string
	Type      string   // agent, env_var, terminal; "" is agent
	Variables []string // environment variables that it needs, where the agent names them
}

// UnmarshalJSON never fails.
func (m *AuthMethod) UnmarshalJSON(raw []byte) error {
	type variable struct{ Name string }
	var w struct {
		ID, Name, Type string
		Vars           List[variable]
		Meta           struct{ Vars List[variable] } `json:"_meta"`
	}
	lenient(raw, &w)
	*m = AuthMethod{ID: w.ID, Name: w.Name, Type: w.Type}
	for _, v := range append(w.Vars, w.Meta.Vars...) {
		if v.Name != "" {
			m.Variables = append(m.Variables, v.Name)
		}
	}
	return nil
}

func (m AuthMethod) complete() bool { return m.ID != "" }

// String returns the method's id, and its name and variables in brackets.
func (m AuthMethod) String() string {
	var more []string
	if m.Name != "" && m.Name != m.ID {
		more = append(more, m.Name)
	}
	more = append(more, m.Variables...)
	if len(more) == 0 {
		return oneLine(m.ID, 100)
	}
	return oneLine(m.ID+" ("+strings.Join(more, ", ")+")", 200)
}

// AuthenticateRequest chooses a method.
type AuthenticateRequest struct {
	MethodID string `json:"methodId"`
}
