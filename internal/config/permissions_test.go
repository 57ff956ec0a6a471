package config

import (
	"errors"
	"strings"
	"testing"
)

// agentOf resolves the one agent of a city, whose [workspace] is open.
func agentOf(t *testing.T, text string) (Resolved, error) {
	t.Helper()
	c, err := Parse("/city/city.toml", []byte("[workspace]\nname = \"c\"\n"+text))
	if err != nil {
		return Resolved{}, err
	}
	r, err := c.Resolve(&c.Agents[0])
	if err != nil {
		t.Fatal(err)
	}
	return r, nil
}

// launch is how the agent is started, as far as permissions go.
func launch(r Resolved) string {
	words := append([]string{r.Command}, r.PermissionArgs...)
	for _, k := range sortedKeys(r.PermissionEnv) {
		words = append(words, k+"="+r.PermissionEnv[k])
	}
	return strings.Join(append(words, r.Args...), " ")
}

func TestPermissionsOfPresets(t *testing.T) {
	const claude = "[[agents]]\nname = \"a\"\nprovider = \"claude\"\n"
	tests := []struct {
		name, text, want, level, origin string
		unchecked                       bool
	}{
		{"default", claude, "claude --permission-mode default", "ask", "default", false},
		{"agent", claude + "permissions = \"bypass\"\n", "claude --dangerously-skip-permissions", "bypass", "agent (city.toml:6)", true},
		{"workspace", "permissions = \"auto-edit\"\n" + claude, "claude --permission-mode acceptEdits", "auto-edit", "workspace (city.toml:3)", false},
		{"defaults go before workspace", "permissions = \"bypass\"\n[agent_defaults]\npermissions = \"auto-edit\"\n" + claude,
			"claude --permission-mode acceptEdits", "auto-edit", "agent_defaults (city.toml:5)", false},
		{"agent goes first", "permissions = \"bypass\"\n" + claude + "permissions = \"ask\"\n", "claude --permission-mode default", "ask", "agent (city.toml:7)", false},
		{"own args stay", claude + "args = [\"--model\", \"x\"]\n", "claude --permission-mode default --model x", "ask", "default", false},
		{"own args decide", claude + "args = [\"--dangerously-skip-permissions\"]\n",
			"claude --dangerously-skip-permissions", "bypass", "args of agent (city.toml:6)", true},
		{"own args decide, otherwise", claude + "args = [\"--permission-mode=plan\"]\n",
			"claude --permission-mode=plan", "as its args say", "args of agent (city.toml:6)", false},
		{"own provider", "[providers.mine]\nbase = \"claude\"\nargs = [\"--permission-mode\", \"bypassPermissions\"]\n[[agents]]\nname = \"a\"\nprovider = \"mine\"\n",
			"claude --permission-mode bypassPermissions", "bypass", "args of providers.mine (city.toml:5)", true},
		{"by environment", "[[agents]]\nname = \"a\"\nprovider = \"opencode\"\npermissions = \"bypass\"\n",
			`opencode OPENCODE_PERMISSION={"*":"allow"}`, "bypass", "agent (city.toml:6)", true},
		{"own environment", "[[agents]]\nname = \"a\"\nprovider = \"opencode\"\nenv = { OPENCODE_PERMISSION = '{\"*\":\"allow\"}' }\n",
			"opencode", "bypass", "env of agent (city.toml:6)", true},
		{"an agent that never asks", "[[agents]]\nname = \"a\"\nprovider = \"pi\"\n", "pi", "bypass", `default: provider "pi" has no "ask"`, true},
		{"a command line of the user's", claude + "start_command = \"claude --dangerously-skip-permissions\"\n", "claude --dangerously-skip-permissions", "bypass", "start_command of agent (city.toml:6)", true},
		{"a command line without a provider", "[[agents]]\nname = \"a\"\nstart_command = \"/opt/bin/claude --dangerously-skip-permissions\"\n",
			"/opt/bin/claude --dangerously-skip-permissions", "", "", true},
		{"a shell in a city that has permissions", "permissions = \"bypass\"\n[[agents]]\nname = \"a\"\nprovider = \"shell\"\n", "", "", "", false},
		{"levels of the user's", "[providers.x.permissions.bypass]\nargs = [\"--go\"]\n[providers.x]\ncommand = \"x\"\n[[agents]]\nname = \"a\"\nprovider = \"x\"\npermissions = \"bypass\"\n",
			"x --go", "bypass", "agent (city.toml:10)", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := agentOf(t, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := launch(r); got != tt.want || r.Permissions != tt.level || r.Unchecked != tt.unchecked {
				t.Errorf("%q, level %q, unchecked %v; want %q, %q, %v", got, r.Permissions, r.Unchecked, tt.want, tt.level, tt.unchecked)
			}
			if got := r.Origins["permissions"].String(); got != tt.origin {
				t.Errorf("origin %q, want %q", got, tt.origin)
			}
		})
	}
}

func TestUnavailablePermissions(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no such level", "[[agents]]\nname = \"a\"\nprovider = \"claude\"\npermissions = \"yolo\"\n", `6:1: agent "a": permissions: "yolo" is not valid`},
		{"not of the city", "permissions = \"none\"\n[[agents]]\nname = \"a\"\n", `3:1: workspace.permissions: "none" is not valid`},
		{"flag of both", "[[agents]]\nname = \"a\"\nprovider = \"claude\"\npermissions = \"ask\"\nargs = [\"--dangerously-skip-permissions\"]\n",
			`6:1: agent "a": --dangerously-skip-permissions is in args of agent (city.toml:7), and permissions = "ask" (agent (city.toml:6)) decides the same`},
		{"flag of both, city", "permissions = \"bypass\"\n[[agents]]\nname = \"a\"\nprovider = \"gemini\"\nargs = [\"--approval-mode=yolo\"]\n",
			`agent "a": --approval-mode is in args of agent (city.toml:7), and permissions = "bypass" (workspace (city.toml:3)) decides the same`},
		{"variable of both", "[[agents]]\nname = \"a\"\nprovider = \"opencode\"\npermissions = \"ask\"\nenv = { OPENCODE_PERMISSION = '{\"*\":\"allow\"}' }\n",
			`agent "a": OPENCODE_PERMISSION is in env of agent (city.toml:7), and permissions = "ask"`},
		{"the preset has no such level", "[[agents]]\nname = \"a\"\nprovider = \"pi\"\npermissions = \"ask\"\n",
			`agent "a": permissions = "ask" (agent (city.toml:6)), but provider "pi" has no such level`},
		{"no levels at all", "[[agents]]\nname = \"a\"\nstart_command = \"x\"\npermissions = \"ask\"\n",
			`agent "a": permissions = "ask" has no effect: its start_command has no levels of permissions`},
		{"a level of a provider", "[providers.x.permissions.all]\n[providers.x]\ncommand = \"x\"\n[[agents]]\nname = \"a\"\n", `providers.x.permissions: "all" is not valid`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agentOf(t, tt.text)
			var p *Problems
			if !errors.As(err, &p) || len(p.List) != 1 || !strings.Contains(err.Error(), tt.want) || p.Hint() == "" {
				t.Errorf("error %v\nwant %s", err, tt.want)
			}
		})
	}
}

// Every preset that asks a program for permissions does so for bypass, or names
// in no level a flag that another level lacks.
func TestPresetsHaveLevels(t *testing.T) {
	all, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range all {
		if _, ok := p.Permissions[PermissionsBypass]; !ok && name != "shell" {
			t.Errorf("%s: no level bypass", name)
		}
		for level, l := range p.Permissions {
			if !strings.Contains("ask auto-edit bypass", level) {
				t.Errorf("%s: level %q", name, level)
			}
			for other, o := range p.Permissions {
				if other != level && len(l.Args) > 0 && o.spelledIn(l.Args) {
					t.Errorf("%s: the flags of %s read as %s", name, level, other)
				}
			}
		}
	}
}

// TestPromptOfLevel: gemini's composer begins with another sign when nothing is
// asked; a prefix of the user's own stays.
func TestPromptOfLevel(t *testing.T) {
	const gemini = "[[agents]]\nname = \"a\"\nprovider = \"gemini\"\n"
	for text, want := range map[string]string{
		gemini:                                "> ",
		gemini + "permissions = \"bypass\"\n": "* ",
		gemini + "args = [\"--yolo\"]\n":      "* ",
		gemini + "permissions = \"bypass\"\nready_prompt_prefix = \"$ \"\n": "$ ",
	} {
		r, err := agentOf(t, text)
		if err != nil || r.ReadyPromptPrefix != want {
			t.Errorf("%s: %q, want %q (%v)", text, r.ReadyPromptPrefix, want, err)
		}
	}
}
