package runtime

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Transports of an [MCPServer].
const (
	MCPStdio = "stdio"
	MCPHTTP  = "http"
	MCPSSE   = "sse"
)

// MCPSelf is the name of gc's own server, the command gc mcp.
const MCPSelf = "gc"

// MCPServer is a server of the Model Context Protocol, which gives an agent tools.
type MCPServer struct {
	Name string
	Type string // MCPStdio, MCPHTTP or MCPSSE

	Command string            // stdio: a program, found in the agent's PATH; no shell
	Args    []string          // stdio
	Env     map[string]string // stdio: added to the agent's environment; may hold secrets

	URL     string            // http, sse
	Headers map[string]string // http, sse; may hold secrets
}

// ACP says how an agent is hosted that speaks the Agent Client Protocol.
type ACP struct {
	Command string // shell command line of the agent's ACP mode
	Auth    string // id of the method to authenticate with; "": none

	Permission  string   // answers the agent's questions: ACPAsk (also ""), ACPAllowRead, ACPAllow, ACPDeny
	Allow, Deny []string // rules KIND or KIND:GLOB, before Permission; Deny first

	Mode  string // id or name; "": the agent's own choice
	Model string // id or name; "": the agent's own choice

	FS       bool // the agent may read and write files through gc
	Terminal bool // the agent may run commands through gc
	Record   bool // keep every line that is exchanged with the agent

	HandshakeTimeout time.Duration // until the agent is ready; 0: the provider's default
	AskTimeout       time.Duration // a question that is open this long is rejected; 0: never
}

// Values of [ACP.Permission].
const (
	ACPAsk       = "ask"        // a person or the controller answers
	ACPAllowRead = "allow-read" // reading and searching below the work dir is allowed
	ACPAllow     = "allow"
	ACPDeny      = "deny"
)

// FirstMessage returns text, the first message of a session, with the
// StartupEnvelope in front of it. The envelope says who the agent is and where it
// runs; it is no message of its own, so it waits until there is one. Only acp
// delivers it: for a terminal it is part of PromptSuffix.
func (cfg Config) FirstMessage(text string) string {
	if cfg.StartupEnvelope == "" || text == "" {
		return text
	}
	return cfg.StartupEnvelope + "\n\n" + text
}

// launch adds what the agent's process is started with besides its command line.
// Parts that are not set add nothing, so that older hashes stay valid.
func (f fingerprint) launch(cfg Config) {
	if cfg.Upstream != "" {
		f.text("upstream", cfg.Upstream)
	}
	if len(cfg.MCPServers) > 0 {
		f.bytes("mcp_servers")
		f.count(len(cfg.MCPServers))
		for _, s := range cfg.MCPServers {
			f.server(s)
		}
	}
	if cfg.ACP != nil {
		f.acp(*cfg.ACP)
	}
}

// server adds an MCP server. A credential counts by its name: rotating a key
// restarts nothing. Command and Env of gc's own server are no configuration: where gc
// is installed, and the agent's own variables.
func (f fingerprint) server(s MCPServer) {
	f.text("name", s.Name)
	f.text("type", s.Type)
	if s.Name != MCPSelf {
		f.text("command", s.Command)
		f.values("env", s.Env, IsServingCredential)
	}
	f.list("args", s.Args)
	f.text("url", s.URL)
	f.values("headers", s.Headers, isCredentialHeader)
}

// values adds a map, without the values of the names that are secret.
func (f fingerprint) values(name string, values map[string]string, secret func(string) bool) {
	f.bytes(name)
	f.count(len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		f.bytes(k)
		if !secret(k) {
			f.text("=", values[k])
		}
	}
}

// isCredentialHeader reports whether an HTTP header holds a credential:
// Authorization, Cookie, X-Api-Key, X-Auth-Token and the like.
func isCredentialHeader(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"authorization", "cookie", "key", "token", "secret"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

func (f fingerprint) acp(a ACP) {
	permission := a.Permission
	if permission == "" {
		permission = ACPAsk
	}
	f.text("acp", a.Command)
	f.text("auth", a.Auth)
	f.text("permission", permission)
	f.list("allow", a.Allow)
	f.list("deny", a.Deny)
	f.text("mode", a.Mode)
	f.text("model", a.Model)
	for _, on := range []bool{a.FS, a.Terminal} {
		if on {
			f.count(1)
		} else {
			f.count(0)
		}
	}
}
