package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// addServers sets the agent's MCP servers, with their variables expanded.
func (s *Spec) addServers(cfg *runtime.Config, o BuildOptions) error {
	for _, name := range s.Resolved.MCPServers {
		if name == config.MCPSelf {
			cfg.MCPServers = append(cfg.MCPServers, runtime.MCPServer{
				Name: runtime.MCPSelf, Type: runtime.MCPStdio, Command: cmp.Or(o.Bin, "gc"), Args: []string{"mcp"},
			})
			continue
		}
		of, ok := s.City.MCPServer(name)
		if !ok {
			return fmt.Errorf("no MCP server is named %q", name)
		}
		env, headers := of.Expanded(o.Environ)
		cfg.MCPServers = append(cfg.MCPServers, runtime.MCPServer{
			Name: of.Name, Type: of.Type, Command: of.Command, Args: of.Args, Env: env, URL: of.URL, Headers: headers,
		})
	}
	if len(cfg.MCPServers) > 0 && (s.serversInEnv() || s.serversStaged()) {
		// A relaunch keeps the environment and stages nothing, so a change needs a new session.
		cfg.FingerprintExtra = append(cfg.FingerprintExtra, "mcp "+runtime.LaunchHash(runtime.Config{MCPServers: cfg.MCPServers}))
	}
	return nil
}

// serversInEnv reports whether the program gets its servers by its environment.
func (s *Spec) serversInEnv() bool {
	style := s.Resolved.MCPStyle
	return !s.OverACP() && (style == config.MCPByCodex || style == config.MCPByOpenCode)
}

// serversStaged reports whether the program gets its servers by a file on another machine.
func (s *Spec) serversStaged() bool {
	return !s.OverACP() && s.Resolved.MCPStyle == config.MCPByFile && s.elsewhere()
}

// startServers completes the servers of an incarnation and passes them to a program
// on a terminal. Secrets go by file or environment, never by the command line.
func (s *Spec) startServers(cfg *runtime.Config) error {
	if len(cfg.MCPServers) == 0 {
		return nil
	}
	cfg.MCPServers = slices.Clone(cfg.MCPServers)
	for i := range cfg.MCPServers {
		m := &cfg.MCPServers[i]
		if m.Name == runtime.MCPSelf {
			if m.Env = ownEnv(cfg); s.elsewhere() {
				m.Command, m.Args, m.Env = "/bin/sh", []string{"-c", `exec "${GC_BIN:-gc}" mcp`}, ownEnvThere(cfg)
			}
		}
		if m.Type == runtime.MCPStdio && !s.elsewhere() {
			m.Command = lookPath(m.Command, cmp.Or(cfg.Env["PATH"], cfg.BaseEnv["PATH"]))
		}
	}
	if s.OverACP() || cfg.Command == "" {
		return nil
	}
	switch s.Resolved.MCPStyle {
	case config.MCPByFile:
		if s.serversStaged() {
			return s.stageServers(cfg)
		}
		cfg.Command += " --mcp-config=" + shell.Word(s.ServersFile())
	case config.MCPByCodex:
		return codexServers(cfg)
	case config.MCPByOpenCode:
		return openCodeServers(cfg)
	}
	return nil
}

// stageServers lets the start stage ServersFile into the work directory there. It replaces
// that of an earlier start; only the user there can read it.
func (s *Spec) stageServers(cfg *runtime.Config) error {
	if cfg.WorkDir == "" {
		return &StartError{Msg: "its MCP servers are in a file, for which it has no work directory there", Help: "add work_dir, an absolute path there", Key: "work_dir"}
	}
	there := path.Join(".gc", "mcp", s.Session+".json")
	cfg.CopyFiles = append(slices.Clip(cfg.CopyFiles), runtime.CopyFile{Src: s.ServersFile(), RelDst: there})
	cfg.Command += " --mcp-config=" + shell.Word(path.Join(cfg.WorkDir, there))
	return nil
}

// ownEnv returns what gc mcp needs in its environment: some agents pass little of
// their own on.
func ownEnv(cfg *runtime.Config) map[string]string {
	env := map[string]string{}
	for _, from := range []map[string]string{cfg.BaseEnv, cfg.Env} {
		for k, v := range from {
			if v != "" && (strings.HasPrefix(k, "GC_") || k == "XDG_STATE_HOME") {
				env[k] = v
			}
		}
	}
	return env
}

// ownEnvThere is ownEnv on another machine: nothing that names a place of this one.
func ownEnvThere(cfg *runtime.Config) map[string]string {
	env := ownEnv(&runtime.Config{Env: cfg.Env})
	for _, name := range []string{"GC_BIN", "GC_MUX_SOCKET", "GC_TMUX_SOCKET", "XDG_STATE_HOME"} {
		delete(env, name)
	}
	if dir := env["GC_CITY_PATH"]; dir != "" {
		env["GC_OUTBOX"] = dir // as in the environment of the session
		if id := env["GC_CITY_ID"]; id != "" {
			env["GC_OUTBOX"] += "@" + id
		}
	}
	return env
}

// lookPath returns the absolute path of a program, or name if PATH does not have it:
// the protocol wants a path, and the agent may know another.
func lookPath(name, path string) string {
	if strings.ContainsRune(name, filepath.Separator) {
		return name
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); filepath.IsAbs(file) && err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return file
		}
	}
	return name
}

// ServersFile is the file with the agent's MCP servers, for a program that reads one.
func (s *Spec) ServersFile() string {
	return filepath.Join(s.City.Dir, ".gc", "mcp", s.Session+".json")
}

// WriteServers writes ServersFile before a start with cfg, or removes what an earlier
// start left. Only the user can read it.
func (s *Spec) WriteServers(cfg *runtime.Config) error {
	file := s.ServersFile()
	if len(cfg.MCPServers) == 0 || s.OverACP() || s.Resolved.MCPStyle != config.MCPByFile {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("MCP servers: %w", err)
		}
		return nil
	}
	type server struct {
		Type    string            `json:"type"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	all := map[string]server{}
	for _, m := range cfg.MCPServers {
		all[m.Name] = server{Type: m.Type, Command: m.Command, Args: m.Args, Env: m.Env, URL: m.URL, Headers: m.Headers}
	}
	text, err := json.MarshalIndent(map[string]any{"mcpServers": all}, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = writeWhole(file, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("MCP servers: %w", err)
	}
	return nil
}

// writeWhole replaces a file, so that a program reads the old content or the new.
func writeWhole(file string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// codexServers passes the servers to Codex with -c, values with secrets in variables
// of its environment.
func codexServers(cfg *runtime.Config) error {
	var b strings.Builder
	option := func(server, key string, value any) {
		text, err := json.Marshal(value) // a JSON string or array is the same in TOML
		if err == nil {
			b.WriteString(" -c " + shell.Quote("mcp_servers."+server+"."+key+"="+string(text)))
		}
	}
	for _, m := range cfg.MCPServers {
		switch m.Type {
		case runtime.MCPStdio:
			option(m.Name, "command", m.Command)
			option(m.Name, "args", append([]string{}, m.Args...))
			for k, v := range m.Env {
				if old, ok := cfg.Env[k]; ok && old != v {
					return &StartError{
						Msg:  fmt.Sprintf("MCP server %s: its variable %s has another value than the agent's", m.Name, k),
						Help: "codex gives its servers variables of its own environment: use one value, or start the server by a script that sets it", Key: "mcp_servers",
					}
				}
				cfg.Env[k] = v
			}
			option(m.Name, "env_vars", slices.Sorted(maps.Keys(m.Env)))
		case runtime.MCPHTTP:
			option(m.Name, "url", m.URL)
			var table []string
			for i, k := range slices.Sorted(maps.Keys(m.Headers)) {
				name := "GC_MCP_" + strings.ToUpper(strings.ReplaceAll(m.Name, "-", "_")) + "_" + strconv.Itoa(i+1)
				cfg.Env[name] = m.Headers[k]
				table = append(table, strconv.Quote(k)+" = "+strconv.Quote(name))
			}
			if len(table) > 0 {
				b.WriteString(" -c " + shell.Quote("mcp_servers."+m.Name+".env_http_headers={ "+strings.Join(table, ", ")+" }"))
			}
		default:
			return &StartError{Msg: fmt.Sprintf("MCP server %s: codex does not take type %q", m.Name, m.Type), Help: `it takes type = "http"`, Key: "mcp_servers"}
		}
	}
	cfg.Command += b.String()
	return nil
}

// openCodeServers adds the servers to OPENCODE_CONFIG_CONTENT, which OpenCode merges
// into its configuration.
func openCodeServers(cfg *runtime.Config) error {
	const variable = "OPENCODE_CONFIG_CONTENT"
	content := map[string]any{}
	if old := cmp.Or(cfg.Env[variable], cfg.BaseEnv[variable]); old != "" {
		if err := json.Unmarshal([]byte(old), &content); err != nil {
			return &StartError{Msg: variable + " is not a JSON object, so the MCP servers cannot be added", Help: "write it without comments, or configure the servers in opencode.json", Key: "mcp_servers"}
		}
	}
	servers, _ := content["mcp"].(map[string]any)
	if servers == nil {
		servers = map[string]any{}
	}
	for _, m := range cfg.MCPServers {
		if m.Type == runtime.MCPStdio {
			servers[m.Name] = map[string]any{"type": "local", "command": append([]string{m.Command}, m.Args...), "environment": m.Env}
			continue
		}
		servers[m.Name] = map[string]any{"type": "remote", "url": m.URL, "headers": m.Headers}
	}
	content["mcp"] = servers
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("MCP servers: %w", err)
	}
	cfg.Env[variable] = string(text)
	return nil
}
