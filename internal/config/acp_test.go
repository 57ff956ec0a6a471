package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/acp/rules"
)

func TestProblemsOfACP(t *testing.T) {
	agent := "[[agents]]\nname = \"a\"\nprovider = \"claude\"\nsession = \"acp\"\n"
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"no command", "[[agents]]\nname = \"a\"\nprovider = \"cursor\"\nsession = \"acp\"\n", []string{
			`6:1 agent "a": session = "acp", but provider "cursor" has no acp_command | add acp_command = "PROGRAM ARGS", which starts the program as an ACP agent on its standard input and output; presets with one: claude, codex, gemini, opencode, qwen`}},
		{"no command, of the city", "[session]\nprovider = \"acp\"\n[[agents]]\nname = \"a\"\nstart_command = \"x\"\n", []string{
			`5:3 agent "a": session = "acp", but its start_command has no acp_command`}},
		{"unknown key", agent + "[agents.acp]\npermision = \"ask\"\n", []string{`8:1 unknown key "permision" in [[agents]].acp | did you mean "permission"?`}},
		{"words", agent + "[agents.acp]\npermission = \"allowread\"\nallow = [\"excute:go *\", \"edit:\"]\ndeny = [\"delete\", \"rm\", \"edit:~/x\", \"read:../x\", \"execute:cat ../x\"]\n", []string{
			`8:1 agent "a": acp.permission: "allowread" is not valid | did you mean "allow-read"?`,
			`9:1 agent "a": acp.allow: rule "excute:go *": "excute" is not a kind of tool call | did you mean "execute"? kinds: read, edit,`,
			`9:1 agent "a": acp.allow: rule "edit:" has no pattern | write "edit" for every call`,
			`10:1 agent "a": acp.deny: rule "rm": "rm" is not a kind`,
			`10:1 agent "a": acp.deny: rule "edit:~/x" matches no path | write a path below the work dir`,
			`10:1 agent "a": acp.deny: rule "read:../x" matches no path`}},
		{"former keys", "[session.acp]\nnudge_busy_timeout = \"60s\"\noutput_lines = 100\nhandshake_timeout = \"0s\"\n", []string{
			`4:1 session.acp.nudge_busy_timeout no longer exists | remove it: a message waits in the agent's queue`,
			`5:1 session.acp.output_lines no longer exists | remove it: gc peek`,
			`6:1 session.acp.handshake_timeout must be longer than zero`}},
		{"permissions", "[[agents]]\nname = \"a\"\nprovider = \"claude\"\nsession = \"acp\"\npermissions = \"bypass\"\n", []string{
			`7:1 agent "a": permissions = "bypass" has no effect: its session is acp | set permission, allow and deny`}},
		{"command template", "[providers.p]\ncommand = \"p\"\nacp_command = \"p {{.Nope}}\"\nmcp_style = \"files\"\n", []string{
			`5:1 providers.p.acp_command: bad template`, `6:1 providers.p.mcp_style: "files" is not valid | did you mean "file"?`}},
		{"unknown server", agent + "mcp_servers = [\"gc\", \"tols\", \"gc\"]\n[[mcp_servers]]\nname = \"tools\"\ncommand = \"t\"\n", []string{
			`7:1 agent "a": mcp_servers: no MCP server is named "tols" | did you mean "tools"? valid: gc, tools;`,
			`7:1 agent "a": mcp_servers names "gc" twice`}},
		{"servers", `[[mcp_servers]]
name = "gc"
command = "x"
[[mcp_servers]]
command = "x y"
url = "https://h/"
type = "http"
[[mcp_servers]]
name = "a b"
[[mcp_servers]]
name = "w"
url = "ftp://x"
env = { A = "b" }
type = "stdio"
headers = { "X Y" = "1" }
[[mcp_servers]]
name = "w"
url = "https://h/"
type = "sse"
`, []string{
			`4:1 mcp_servers.name: "gc" is built in`,
			`6:3 [[mcp_servers]] has no name`,
			`7:1 MCP server "": command: "x y" is not the name of a program | write the arguments in args`,
			`8:1 MCP server "": url has no meaning: it has a command`,
			`9:1 MCP server "": type: "http" is not valid`,
			`10:3 MCP server "a b" has neither command nor url`,
			`11:1 mcp_servers.name: "a b" is not a valid server name`,
			`14:1 MCP server "w": url is not an http or https address`,
			`15:1 MCP server "w": env has no meaning: it has a url`,
			`16:1 MCP server "w": type: "stdio" is not valid`,
			`17:1 MCP server "w": headers: "X Y" cannot be sent`,
			`19:1 MCP server "w" is defined twice, first on line 13`}},
	} {
		t.Run(tt.name, func(t *testing.T) { wantProblems(t, tt.text, tt.want) })
	}
}

func acpOf(t *testing.T, text string) Resolved {
	t.Helper()
	c := mustParse(t, text)
	r, err := c.Resolve(&c.Agents[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPresetsOfACP(t *testing.T) {
	for name, want := range map[string][4]string{
		"claude":   {"claude-agent-acp", "", "", "default"},
		"codex":    {"codex-acp", "", "", "read-only"},
		"gemini":   {"gemini --acp", "gemini-api-key", "GEMINI_API_KEY", "default"},
		"qwen":     {"qwen --acp", "openai", "", "default"},
		"opencode": {"opencode acp", "", "", ""},
	} {
		r := acpOf(t, "[[agents]]\nname = \"a\"\nprovider = \""+name+"\"\nsession = \"acp\"\n")
		if got := [4]string{r.ACPCommand, r.ACP.Auth, r.ACPAuthIf, r.ACP.Mode}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if len(r.PermissionArgs)+len(r.PermissionEnv) > 0 || r.Permissions != "" || r.Unchecked {
			t.Errorf("%s: flags for a terminal: %q %q", name, r.PermissionArgs, r.PermissionEnv)
		}
		if yes, why := r.Asks(r.ACP.Mode); yes == (name == "opencode") || yes == (why != "") {
			t.Errorf("%s asks: %v, %q", name, yes, why)
		}
	}
}

// The most specific value counts: preset, [session.acp], the city's provider, the
// agent.
func TestLayersOfACP(t *testing.T) {
	text := `[session.acp]
mode = "plan"
model = "small"
permission = "allow-read"
deny = ["delete"]
ask_timeout = "5m"
[providers.mine]
base = "claude"
MINE
[[agents]]
name = "a"
provider = "mine"
session = "acp"
AGENT
`
	of := func(provider, agent string) Resolved {
		return acpOf(t, strings.NewReplacer("MINE", provider, "AGENT", agent).Replace(text))
	}
	r := of("", "")
	if r.ACP.Mode != "plan" || r.ACP.Model != "small" || r.ACP.Permission != rules.AllowRead || r.ACP.AskTimeout != 5*time.Minute || r.ACP.HandshakeTimeout != time.Minute {
		t.Errorf("[session.acp]: %+v", r.ACP)
	}
	if o := r.Origins["acp.mode"].String(); o != "session.acp (city.toml:4)" {
		t.Errorf("origin %q", o)
	}
	if yes, why := r.Asks(r.ACP.Mode); yes || !strings.Contains(why, `it asks in mode "default"`) {
		t.Errorf("asks: %v, %q", yes, why)
	}
	if r = of(`acp_mode = "mine"`, ""); r.ACP.Mode != "mine" || r.AskingMode != "default" {
		t.Errorf("provider: mode %q, asking mode %q", r.ACP.Mode, r.AskingMode)
	}
	r = of(`acp_mode = "mine"`, "acp_command = \"other --acp\"\n[agents.acp]\nmode = \"own\"\npermission = \"allow\"\ndeny = []")
	if r.ACP.Mode != "own" || r.ACPCommand != "other --acp" || len(r.ACP.Deny) != 0 || !r.Unchecked || r.ACP.Model != "small" {
		t.Errorf("agent: %+v, %q, unchecked %v", r.ACP, r.ACPCommand, r.Unchecked)
	}
	r = acpOf(t, "[[agents]]\nname = \"a\"\nprovider = \"gemini\"\nsession = \"acp\"\n[agents.acp]\nauth = \"oauth\"\n")
	if r.ACP.Auth != "oauth" || r.ACPAuthIf != "" {
		t.Errorf("own auth: %q if %q", r.ACP.Auth, r.ACPAuthIf)
	}
}

func TestHostedBy(t *testing.T) {
	c := mustParse(t, "[session]\nprovider = \"hybrid\"\nlocal = \"acp\"\nremote = \"tmux\"\nremote_match = [\"far-*\"]\n")
	for _, tt := range []struct{ selected, session, own, want string }{
		{"native", "x", "acp", "native"}, // GC_SESSION counts for every agent
		{"auto", "x", "acp", "acp"},
		{"auto", "x", "", "native"},
		{"hybrid", "far-x", "", "tmux"},
		{"hybrid", "x", "", "acp"},
	} {
		if got := c.HostedBy(tt.selected, tt.session, tt.own); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

const withServers = `[[mcp_servers]]
name = "db"
command = "./bin/db-mcp"
args = ["--read-only"]
env = { DB_PASSWORD = "hunter2", DB_HOST = "secret-host", DB_USER = "$USER" }
[[mcp_servers]]
name = "web"
url = "https://user:pass@h/mcp"
headers = { X-Team = "hunter2" }
[[agents]]
name = "a"
provider = "claude"
mcp_servers = ["gc", "db"]
[[agents]]
name = "g"
provider = "gemini"
mcp_servers = ["db"]
args = ["-d"]
[agents.acp]
record = true
[[agents]]
name = "x"
provider = "gemini"
session = "acp"
lifecycle = "one_shot"
args = ["-d"]
`

func TestMCPServers(t *testing.T) {
	c := mustParse(t, withServers)
	db, ok := c.MCPServer("db")
	if !ok || db.Command != "/city/bin/db-mcp" || db.Type != MCPStdio {
		t.Errorf("db: %+v", db)
	}
	env, _ := db.Expanded([]string{"USER=me"})
	if diff := cmp.Diff(map[string]string{"DB_PASSWORD": "hunter2", "DB_HOST": "secret-host", "DB_USER": "me"}, env); diff != "" {
		t.Error(diff)
	}
	if web, _ := c.MCPServer("web"); web.Type != MCPHTTP {
		t.Errorf("web: %q", web.Type)
	}
	if _, ok := c.MCPServer("none"); ok {
		t.Error("a server that is not there")
	}
	var got []string
	for _, p := range c.Unused() {
		got = append(got, p.Msg)
	}
	want := []string{
		`MCP server "web": no agent uses it`,
		`agent "g": mcp_servers has no effect: provider "gemini" takes no MCP servers from its command line`,
		`agent "g": acp has no effect: its session is not acp`,
		`agent "x": args has no effect: its session is acp`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsOfMCPServersAreMasked(t *testing.T) {
	s, err := Show(mustParse(t, withServers), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Mask()
	var b strings.Builder
	if err := s.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "secret-host", "user:pass"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("%q is shown", secret)
		}
	}
	for _, want := range []string{"mcp_servers.db.command", `["--read-only"]`, "mcp_servers.db.env.DB_USER      $USER", "mcp_servers.web.headers.X-Team", "acp_command", "acp.auth", "gemini-api-key"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, b.String())
		}
	}
}
