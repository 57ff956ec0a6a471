package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
)

const overACP = `
[session.acp]
ask_timeout = "5m"
[[mcp_servers]]
name = "db"
command = "db-mcp"
args = ["a b"]
env = { DB_TOKEN = "$TOKEN", DB_HOST = "h" }
[[mcp_servers]]
name = "web"
url = "https://h/mcp"
headers = { X-Team = "$TOKEN" }
[[agents]]
name = "a"
provider = "gemini"
session = "acp"
acp_command = "gemini --acp --label {{.AgentBase}}"
mcp_servers = ["gc", "db", "web"]
prompt_template = "it's work"
[agents.acp]
permission = "allow-read"
deny = ["delete"]
`

func TestConfigOverACP(t *testing.T) {
	s := specs(t, t.TempDir(), overACP)[0]
	inst := instance
	cfg, err := s.StartConfig(inst)
	if err != nil {
		t.Fatal(err)
	}
	want := &runtime.ACP{
		Command: "gemini --acp --label a", Permission: "allow-read", Deny: []string{"delete"}, Mode: "default",
		HandshakeTimeout: time.Minute, AskTimeout: 5 * time.Minute, // no auth: the key is not set
	}
	if diff := cmp.Diff(want, cfg.ACP); diff != "" {
		t.Errorf("acp:\n%s", diff)
	}
	if len(cfg.ProcessNames) > 0 {
		t.Errorf("process names %q: its program is the host", cfg.ProcessNames)
	}
	if cfg.Prompt != "it's work" || cfg.StartupEnvelope != "[city] a . 2026-03-01T15:04:05" {
		t.Errorf("prompt %q after %q", cfg.Prompt, cfg.StartupEnvelope)
	}
	servers := []runtime.MCPServer{
		{Name: "gc", Type: "stdio", Command: "/bin/gc", Args: []string{"mcp"}, Env: cfg.MCPServers[0].Env},
		{Name: "db", Type: "stdio", Command: "db-mcp", Args: []string{"a b"}, Env: map[string]string{"DB_TOKEN": "secret", "DB_HOST": "h"}},
		{Name: "web", Type: "http", URL: "https://h/mcp", Headers: map[string]string{"X-Team": "secret"}},
	}
	if diff := cmp.Diff(servers, cfg.MCPServers); diff != "" {
		t.Errorf("servers:\n%s", diff)
	}
	if own := cfg.MCPServers[0].Env; own["GC_SESSION_NAME"] != "gc-city-a" || own["GC_SESSION_ID"] != "id" {
		t.Errorf("gc mcp does not know its agent: %v", own)
	}
	if strings.Contains(cfg.Command, "mcp") || cfg.ResumeID != "" {
		t.Errorf("command %q, resume %q", cfg.Command, cfg.ResumeID)
	}

	inst.Conversation, inst.Resume = "c1", true
	if cfg, err = s.StartConfig(inst); err != nil {
		t.Fatal(err)
	}
	if cfg.ResumeID != "c1" || cfg.Prompt != "it's work" || cfg.StartupEnvelope != "[city] a . 2026-03-01T15:04:05" || cfg.PromptSuffix != "" {
		t.Errorf("resumed %q with prompt %q after %q", cfg.ResumeID, cfg.Prompt, cfg.StartupEnvelope)
	}
	if got := (Hashes{runtime.CoreHash(s.Config), runtime.LaunchHash(s.Config), runtime.ProvisionHash(s.Config), runtime.LiveHash(s.Config)}); got != s.Hashes {
		t.Error("StartConfig changed the spec")
	}
}

// The method to authenticate with counts if its key is there, and is in the
// fingerprint either way: a key that comes and goes restarts nothing.
func TestAuthWithItsKey(t *testing.T) {
	dir := t.TempDir()
	const text = "[[agents]]\nname = \"a\"\nprovider = \"gemini\"\nsession = \"acp\"\n"
	without, with := specs(t, dir, text)[0], specs(t, dir, text+"env = { GEMINI_API_KEY = \"k\" }\n")[0]
	for s, want := range map[*Spec]string{without: "", with: "gemini-api-key"} {
		cfg, err := s.StartConfig(instance)
		if err != nil || cfg.ACP.Auth != want {
			t.Errorf("auth %q, want %q: %v", cfg.ACP.Auth, want, err)
		}
	}
	if without.Hashes.Launch != with.Hashes.Launch {
		t.Error("the key is in the launch hash")
	}
}

// GC_SESSION=acp hosts every agent over ACP, whatever the config says.
func TestConfigOfATerminalServesACP(t *testing.T) {
	list := specs(t, t.TempDir(), "[[agents]]\nname = \"a\"\nprovider = \"claude\"\n[[agents]]\nname = \"b\"\nstart_command = \"x\"\n")
	if list[0].Config.ACP != nil || list[0].OverACP() {
		t.Error("ACP is in the fingerprint of an agent on a terminal")
	}
	cfg, err := list[0].StartConfig(instance)
	if err != nil || cfg.ACP == nil || cfg.ACP.Command != "claude-agent-acp" || cfg.ACP.Mode != "default" {
		t.Errorf("%+v, %v", cfg.ACP, err)
	}
	if cfg, err = list[1].StartConfig(instance); err != nil || cfg.ACP != nil {
		t.Errorf("a program without ACP: %+v, %v", cfg.ACP, err)
	}
}

func TestHybridWithACP(t *testing.T) {
	const text = "[session]\nprovider = \"hybrid\"\nlocal = \"acp\"\nremote = \"tmux\"\nremote_match = [\"*far\"]\n[[agents]]\nname = \"far\"\nstart_command = \"x\"\n"
	dir := t.TempDir()
	list := specs(t, dir, text+"[[agents]]\nname = \"near\"\nprovider = \"claude\"\n")
	if list[0].OverACP() || list[0].Config.ACP != nil || !list[1].OverACP() || list[1].Config.ACP == nil {
		t.Error("which agents are hosted over ACP is decided by their sessions' names")
	}
	c, err := config.Parse(filepath.Join(dir, config.FileName), []byte("[workspace]\nname = \"city\"\n"+text+"[[agents]]\nname = \"near\"\nstart_command = \"x\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Build(c, BuildOptions{}); err == nil || !strings.Contains(err.Error(), "there is no acp_command") {
		t.Errorf("an agent without a command: %v", err)
	}
}

// onTerminal starts an agent on a terminal with three servers.
func onTerminal(t *testing.T, provider string) (*Spec, runtime.Config) {
	t.Helper()
	text := strings.Replace(overACP, `session = "acp"`, "", 1)
	text = strings.Replace(text, `provider = "gemini"`, `provider = "`+provider+`"`, 1)
	s := specs(t, t.TempDir(), text)[0]
	cfg, err := s.StartConfig(instance)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WriteServers(&cfg); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(cfg.Command, "secret") {
		t.Errorf("%s: a secret is on the command line: %s", provider, cfg.Command)
	}
	return s, cfg
}

func TestServersInAFile(t *testing.T) {
	for _, provider := range []string{"claude", "qwen"} {
		s, cfg := onTerminal(t, provider)
		if !strings.HasSuffix(cfg.Command, " --mcp-config="+s.ServersFile()) {
			t.Errorf("%s: command %s", provider, cfg.Command)
		}
		st, err := os.Stat(s.ServersFile())
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Fatalf("file: %v, %v", st, err)
		}
		b, err := os.ReadFile(s.ServersFile())
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			MCPServers map[string]map[string]any `json:"mcpServers"`
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		delete(got.MCPServers["gc"], "env")
		want := map[string]map[string]any{
			"gc":  {"type": "stdio", "command": "/bin/gc", "args": []any{"mcp"}},
			"db":  {"type": "stdio", "command": "db-mcp", "args": []any{"a b"}, "env": map[string]any{"DB_TOKEN": "secret", "DB_HOST": "h"}},
			"web": {"type": "http", "url": "https://h/mcp", "headers": map[string]any{"X-Team": "secret"}},
		}
		if diff := cmp.Diff(want, got.MCPServers); diff != "" {
			t.Error(diff)
		}
		cfg.MCPServers = nil
		if err := s.WriteServers(&cfg); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.ServersFile()); err == nil {
			t.Error("the file is still there after a start without servers")
		}
	}
}

func TestServersOfCodex(t *testing.T) {
	_, cfg := onTerminal(t, "codex")
	for _, want := range []string{
		` -c 'mcp_servers.gc.command="/bin/gc"' -c 'mcp_servers.gc.args=["mcp"]' -c 'mcp_servers.gc.env_vars=["GC_AGENT",`,
		` -c 'mcp_servers.db.command="db-mcp"' -c 'mcp_servers.db.args=["a b"]' -c 'mcp_servers.db.env_vars=["DB_HOST","DB_TOKEN"]'`,
		` -c 'mcp_servers.web.url="https://h/mcp"' -c 'mcp_servers.web.env_http_headers={ "X-Team" = "GC_MCP_WEB_1" }'`,
	} {
		if !strings.Contains(cfg.Command, want) {
			t.Errorf("%s is missing in %s", want, cfg.Command)
		}
	}
	if cfg.Env["DB_TOKEN"] != "secret" || cfg.Env["GC_MCP_WEB_1"] != "secret" {
		t.Errorf("environment %v", cfg.Env)
	}
}

func TestServersOfOpenCode(t *testing.T) {
	_, cfg := onTerminal(t, "opencode")
	var got struct {
		MCP map[string]map[string]any `json:"mcp"`
	}
	if err := json.Unmarshal([]byte(cfg.Env["OPENCODE_CONFIG_CONTENT"]), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"type": "local", "command": []any{"db-mcp", "a b"}, "environment": map[string]any{"DB_TOKEN": "secret", "DB_HOST": "h"}}
	if diff := cmp.Diff(want, got.MCP["db"]); diff != "" {
		t.Error(diff)
	}
	want = map[string]any{"type": "remote", "url": "https://h/mcp", "headers": map[string]any{"X-Team": "secret"}}
	if diff := cmp.Diff(want, got.MCP["web"]); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(cfg.Command, "mcp") {
		t.Errorf("command %s", cfg.Command)
	}
}

func TestServersThatCannotBePassed(t *testing.T) {
	for name, tt := range map[string]struct{ toml, want string }{
		"two values of a variable": {"provider = \"codex\"\nmcp_servers = [\"db\"]\nenv = { A = \"mine\" }\n[[mcp_servers]]\nname = \"db\"\ncommand = \"x\"\nenv = { A = \"other\" }\n",
			"MCP server db: its variable A has another value than the agent's"},
		"sse for codex": {"provider = \"codex\"\nmcp_servers = [\"w\"]\n[[mcp_servers]]\nname = \"w\"\nurl = \"https://h/\"\ntype = \"sse\"\n", `codex does not take type "sse"`},
		"own content": {"provider = \"opencode\"\nhooks = false\nmcp_servers = [\"gc\"]\nenv = { OPENCODE_CONFIG_CONTENT = \"// none\" }\n",
			"OPENCODE_CONFIG_CONTENT is not a JSON object"},
	} {
		_, err := specs(t, t.TempDir(), "[[agents]]\nname = \"a\"\n"+tt.toml)[0].StartConfig(instance)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := specs(t, t.TempDir(), "[[agents]]\nname = \"a\"\nprovider = \"opencode\"\nmcp_servers = [\"gc\"]\nenv = { OPENCODE_CONFIG_CONTENT = '{\"theme\":\"x\",\"mcp\":{\"own\":{}}}' }\n")[0]
	cfg, err := s.StartConfig(instance)
	if got := cfg.Env["OPENCODE_CONFIG_CONTENT"]; err != nil || !strings.Contains(got, `"theme":"x"`) || !strings.Contains(got, `"own":{}`) || !strings.Contains(got, `"gc":{`) {
		t.Errorf("merged %s, %v", got, err)
	}
}

// A changed server restarts the agent: where it is passed by the environment, in a
// new session, which alone has a new one.
func TestChangedServerRestarts(t *testing.T) {
	dir := t.TempDir()
	for provider, provision := range map[string]bool{"claude": false, "codex": true, "opencode": true} {
		text := "[[mcp_servers]]\nname = \"m\"\ncommand = \"x\"\n[[agents]]\nname = \"a\"\nprovider = \"" + provider + "\"\nmcp_servers = [\"m\"]\n"
		a, b := specs(t, dir, text)[0].Hashes, specs(t, dir, strings.Replace(text, `"x"`, `"y"`, 1))[0].Hashes
		if a.Launch == b.Launch || a.Core == b.Core || (a.Provision != b.Provision) != provision {
			t.Errorf("%s: %+v and %+v", provider, a, b)
		}
	}
}
