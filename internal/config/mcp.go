package config

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"gascity.dev/gc/internal/nearest"
	"gascity.dev/gc/internal/toml"
)

// MCPServer is one [[mcp_servers]] table: a server of the Model Context Protocol that
// agents may name in mcp_servers.
type MCPServer struct {
	Name    string            `toml:"name"`
	Command string            `toml:"command"` // a program, no shell; with a slash, relative to the city
	Args    []string          `toml:"args"`
	Env     map[string]string `toml:"env"` // $VAR is expanded from the environment of the city's starter
	URL     string            `toml:"url"`
	Type    string            `toml:"type"`    // of a url: MCPHTTP (the default) or MCPSSE
	Headers map[string]string `toml:"headers"` // $VAR is expanded
	Where
}

// Transports of an MCP server.
const (
	MCPStdio = "stdio"
	MCPHTTP  = "http"
	MCPSSE   = "sse"
)

// MCPSelf is the name of the built-in server: gc mcp.
const MCPSelf = "gc"

// Styles of mcp_style: how a program on a terminal gets its MCP servers.
const (
	MCPByFile     = "file"     // --mcp-config=FILE, JSON with mcpServers
	MCPByCodex    = "codex"    // -c mcp_servers.NAME.KEY=VALUE
	MCPByOpenCode = "opencode" // OPENCODE_CONFIG_CONTENT, JSON with mcp
)

// MCPStyles returns the values of mcp_style.
func MCPStyles() []string { return []string{MCPByFile, MCPByCodex, MCPByOpenCode} }

// MCPServer returns a server of the city by name, with its type set and the path of
// its command absolute.
func (c *City) MCPServer(name string) (MCPServer, bool) {
	i := slices.IndexFunc(c.MCPServers, func(s MCPServer) bool { return s.Name == name })
	if i < 0 {
		return MCPServer{}, false
	}
	s := c.MCPServers[i]
	s.Type = s.transport()
	if strings.ContainsRune(s.Command, filepath.Separator) {
		s.Command = c.path(s.Command)
	}
	return s, true
}

func (s *MCPServer) transport() string {
	switch {
	case s.Type != "":
		return s.Type
	case s.URL != "":
		return MCPHTTP
	}
	return MCPStdio
}

// Expanded returns Env and Headers with $VAR expanded from caller, an environment.
func (s *MCPServer) Expanded(caller []string) (env, headers map[string]string) {
	vars := lookup(caller)
	expand := func(m map[string]string) map[string]string {
		out := maps.Clone(m)
		for k, v := range out {
			out[k] = expandVars(v, vars)
		}
		return out
	}
	return expand(s.Env), expand(s.Headers)
}

func (c *City) validateMCPServers(out *toml.Report) {
	first := map[string]Pos{}
	for i := range c.MCPServers {
		s := &c.MCPServers[i]
		at, dup := first[s.Name]
		switch {
		case s.Name == "":
			if !out.Has(s.Place("name")) {
				out.Add(s.Place("name"), `add name = "tools"`, "[[mcp_servers]] has no name")
			}
		case s.Name == MCPSelf:
			out.Add(s.Place("name"), `agents write mcp_servers = ["gc"] without a table`, `mcp_servers.name: "gc" is built in: it is gc mcp`)
		case !validServerName(s.Name):
			out.Add(s.Place("name"), "use 1 to 64 letters, digits, '_' and '-'", "mcp_servers.name: %q is not a valid server name", clip(s.Name))
		case dup:
			out.Add(s.Place("name"), "", "MCP server %q is defined twice, first on line %d", s.Name, at.Line)
		default:
			first[s.Name] = s.Place("name")
		}
		s.validate(out)
	}
}

// validServerName reports whether every agent takes the name: it becomes a part of
// the names of tools, and of keys.
func validServerName(s string) bool {
	return len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func (s *MCPServer) validate(out *toml.Report) {
	where := "MCP server " + quote(clip(s.Name))
	local := []string{"command", "args", "env"}
	remote := []string{"url", "headers"}
	switch {
	case s.Command == "" && s.URL == "":
		out.Add(s.At, `add command = "PROGRAM", or url = "https://..."`, "%s has neither command nor url", where)
	case s.Command != "":
		s.refuse(out, where, remote, "it has a command")
		oneOf(out, s.Place("type"), where+": type", s.Type, MCPStdio)
		if strings.ContainsAny(s.Command, " \t") && !strings.Contains(s.Command, "/") || badText(s.Command) {
			out.Add(s.Place("command"), "write the arguments in args", "%s: command: %q is not the name of a program", where, clip(s.Command))
		}
	default:
		s.refuse(out, where, local, "it has a url")
		oneOf(out, s.Place("type"), where+": type", s.Type, MCPHTTP, MCPSSE)
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || badText(s.URL) {
			out.Add(s.Place("url"), `write "https://HOST/PATH"`, "%s: url is not an http or https address", where)
		}
	}
	for _, k := range sortedKeys(s.Env) {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(s.Env[k], "\x00") {
			out.Add(s.Place("env"), "", "%s: env: %q cannot be set as an environment variable", where, clip(k))
		}
	}
	for _, k := range sortedKeys(s.Headers) {
		if k == "" || strings.ContainsAny(k, " \t:") || badText(k) || badText(s.Headers[k]) {
			out.Add(s.Place("headers"), "", "%s: headers: %q cannot be sent as an HTTP header", where, clip(k))
		}
	}
	for _, a := range s.Args {
		if strings.Contains(a, "\x00") {
			out.Add(s.Place("args"), "", "%s: args contain a NUL byte", where)
		}
	}
}

// refuse reports keys that belong to the other transport.
func (s *MCPServer) refuse(out *toml.Report, where string, keys []string, why string) {
	for _, key := range keys {
		if s.Has(key) {
			out.Add(s.Place(key), "remove one of the two", "%s: %s has no meaning: %s", where, key, why)
		}
	}
}

// checkMCPNames checks the servers that an agent names.
func (c *City) checkMCPNames(a *Agent, where string, out *toml.Report) {
	valid := []string{MCPSelf}
	for i := range c.MCPServers {
		valid = append(valid, c.MCPServers[i].Name)
	}
	seen := map[string]bool{}
	for _, name := range a.MCPServers {
		switch {
		case seen[name]:
			out.Add(a.Place("mcp_servers"), "", "%s: mcp_servers names %q twice", where, clip(name))
		case !slices.Contains(valid, name):
			hint := "valid: " + strings.Join(valid, ", ") + "; [[mcp_servers]] defines others"
			if near := nearest.Of(name, valid); near != "" {
				hint = "did you mean " + quote(near) + "? " + hint
			}
			out.Add(a.Place("mcp_servers"), hint, "%s: mcp_servers: no MCP server is named %q", where, clip(name))
		}
		seen[name] = true
	}
}

// unusedServers finds servers that no agent gets.
func (c *City) unusedServers(out *toml.Report) {
	named := map[string]bool{}
	for i := range c.Agents {
		for _, name := range c.Agents[i].MCPServers {
			named[name] = true
		}
	}
	for i := range c.MCPServers {
		if s := &c.MCPServers[i]; !named[s.Name] {
			out.Add(s.At, "name it in mcp_servers of an agent, or remove it", "MCP server %q: no agent uses it", s.Name)
		}
	}
}
