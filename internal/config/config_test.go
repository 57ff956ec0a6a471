package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// parse parses a city.toml, prefixed with a [workspace] unless it has one.
func parse(t *testing.T, text string) (*City, error) {
	t.Helper()
	if !strings.Contains(text, "[workspace]") {
		text = "[workspace]\nname = \"c\"\n" + text
	}
	return Parse("/city/city.toml", []byte(text))
}

func mustParse(t *testing.T, text string) *City {
	t.Helper()
	c, err := parse(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []string // "line:column message | hint", each a prefix of what is found
	}{
		{"unknown key", "[[agents]]\nname = \"a\"\nprovder = \"claude\"\n", []string{`5:1 unknown key "provder" in [[agents]] | did you mean "provider"?`}},
		{"unknown table", "[workspce]\n", []string{`3:2 unknown table or key "workspce" | did you mean "workspace"?`}},
		{"unknown sub-table", "[session.k9s]\n", []string{`3:10 unknown key "k9s" in session | did you mean "k8s"?`}},
		{"unknown key far from any", "[daemon]\nzzzzzz = 1\n", []string{`4:1 unknown key "zzzzzz" in daemon | valid keys: drift_drain_timeout, inherit_env,`}},
		{"every problem at once", "[[agents]]\nname = 3\nsuspended = \"yes\"\nargs = \"x\"\nidle_timeout = \"soon\"\n", []string{
			`4:1 [[agents]].name must be a string, not an integer | put the value in quotes`,
			`5:1 [[agents]].suspended must be a boolean, not a string | write true or false, without quotes`,
			`6:1 [[agents]].args must be an array, not a string | write ["a", "b"]`,
			`7:1 [[agents]].idle_timeout: "soon" is not a duration | write a number with a unit`,
		}},
		{"key set twice", "[daemon]\nmax_restarts = 1\nmax_restarts = 2\n", []string{`5:1 "max_restarts" is set twice, first on line 4`}},
		{"table set twice", "[daemon]\n[daemon]\n", []string{`4:2 "daemon" is set twice, first on line 3`}},
		{"two spellings", "[providers.p]\ncommand = \"a\"\nstart_command = \"b\"\n", []string{`5:1 "start_command" sets "command" a second time | keep one`}},
		{"broken", "[[agents]\nname = \"a\"\n", []string{`3:9 expected ']]'`}},
		{"broken string", "[session]\nsize = \"120x40\n", []string{`4:15 basic strings`}},
		{"size", "[session]\nsize = \"big\"\n", []string{`4:1 session.size: "big" is not a size | write columns x rows: "120x40"`}},
		{"size out of range", "[session]\nsize = \"1x40\"\n", []string{`4:1 session.size: "1x40" is outside 2x1 to 2000x2000`}},
		{"duration without unit", "[daemon]\npatrol_interval = 30\n", []string{`4:1 daemon.patrol_interval must be a duration, not an integer | write a number with a unit`}},
		{"negative duration", "[daemon]\npatrol_interval = \"-1s\"\n", []string{`4:1 daemon.patrol_interval: "-1s" is negative`}},
		{"bytes", "[session]\nscrollback_bytes = \"lots\"\n", []string{`4:1 session.scrollback_bytes: "lots" is not an amount of memory`}},
		{"no workspace", "[workspace]\n", []string{`1:2 [workspace] has no name | add name = "my-city"`}},
		{"city name", "[workspace]\nname = \"a/b\"\n", []string{`2:1 workspace.name: "a/b" is not a valid city name`}},
		{"duplicate agent", "[[agents]]\nname = \"a\"\n[[agents]]\nname = \"a\"\n", []string{`6:1 agent "a" is defined twice, first on line 3`}},
		{"agent without name", "[[agents]]\nprovider = \"shell\"\n", []string{`3:3 [[agents]] has no name | add name = "worker"`}},
		{"agent name", "[[agents]]\nname = \"a//b\"\n", []string{`4:1 agents.name: "a//b" is not a valid agent name`}},
		{"unknown provider", "[[agents]]\nname = \"a\"\nprovider = \"cluade\"\n", []string{`5:1 agent "a": provider: no provider is named "cluade" | did you mean "claude"?`}},
		{"base cycle", "[providers.x]\nbase = \"y\"\n[providers.y]\nbase = \"x\"\n", []string{`4:1 providers.x.base: cycle x -> y -> x`}},
		{"own base", "[providers.x]\nbase = \"x\"\n", []string{`4:1 providers.x.base: "x" is its own base`}},
		{"unknown base", "[providers.x]\nbase = \"gemni\"\n", []string{`4:1 providers.x.base: no provider is named "gemni" | did you mean "gemini"?`}},
		{"provider of nothing", "[providers.x]\nargs = [\"a\"]\n", []string{`3:12 providers.x has neither base nor command`}},
		{"prompt mode", "[[agents]]\nname = \"a\"\nprompt_mode = \"flags\"\n", []string{`5:1 agent "a": prompt_mode: "flags" is not valid | did you mean "flag"?`}},
		{"flag without flag", "[[agents]]\nname = \"a\"\nprompt_mode = \"flag\"\n", []string{`5:1 agent "a": prompt_mode is "flag" but there is no prompt_flag`}},
		{"lifecycle", "[[agents]]\nname = \"a\"\nlifecycle = \"oneshot\"\n", []string{`5:1 agent "a": lifecycle: "oneshot" is not valid | did you mean "one_shot"?`}},
		{"template", "[[agents]]\nname = \"a\"\nstart_command = \"x {{.Sesion}}\"\n", []string{`5:1 agent "a": start_command: bad template "x {{.Sesion}}": can't evaluate field Sesion`}},
		{"broken template", "[[agents]]\nname = \"a\"\nargs = [\"{{\"]\n", []string{`5:1 agent "a": args: bad template "{{": `}},
		{"session provider", "[session]\nprovider = \"docker\"\n", []string{`4:1 session.provider: "docker" is not a session provider | valid: native, tmux, subprocess, acp, k8s, exec:<script>, ssh://<host>, acp+ssh://<host>, acp+k8s, auto, hybrid`}},
		{"exec without script", "[session]\nprovider = \"exec:\"\n", []string{`4:1 session.provider: "exec:" is not`}},
		{"depends on nothing", "[[agents]]\nname = \"ab\"\n[[agents]]\nname = \"b\"\ndepends_on = [\"abc\"]\n", []string{`7:1 agent "b" depends on "abc", which is not an agent | did you mean "ab"?`}},
		{"depends on itself", "[[agents]]\nname = \"a\"\ndepends_on = [\"a\"]\n", []string{`5:1 agent "a" depends on itself`}},
		{"dependency cycle", "[[agents]]\nname = \"b\"\ndepends_on = [\"a\"]\n[[agents]]\nname = \"a\"\ndepends_on = [\"c\"]\n[[agents]]\nname = \"c\"\ndepends_on = [\"b\"]\n",
			[]string{`6:3 agents depend on each other: a -> c -> b -> a`}},
		{"pool", "[[agents]]\nname = \"a\"\n[agents.pool]\nmin = 3\nmax = 2\n", []string{`6:1 agent "a": pool.min 3 is more than pool.max 2`}},
		{"rig without path", "[[rigs]]\nname = \"r\"\n", []string{`3:3 rig "r" has no path`}},
		{"rig twice", "[[rigs]]\nname = \"r\"\npath = \"p\"\n[[rigs]]\nname = \"r\"\npath = \"p\"\n", []string{`7:1 rig "r" is defined twice, first on line 4`}},
		{"env", "[[agents]]\nname = \"a\"\nenv = {\"A=B\" = \"x\", C = 1}\n", []string{
			`5:1 agent "a": env: "A=B" cannot be set as an environment variable`, `5:21 [[agents]].env.C must be a string, not an integer`}},
		{"starts", "[daemon]\nmax_parallel_starts = 0\n", []string{`4:1 daemon.max_parallel_starts is 0, want at least 1`}},
		{"process names", "[[agents]]\nname = \"a\"\nprocess_names = [\"\", \"node\", \"/bin/x\"]\n[providers.p]\ncommand = \"x\"\nprocess_names = [\"a\\tb\"]\n", []string{
			`5:1 agent "a": process_names: no process is named "" | write the program's name`, `5:1 agent "a": process_names: no process is named "/bin/x"`,
			`8:1 providers.p.process_names: no process is named "a\tb"`}},
		{"copy files", "[[agents]]\nname = \"a\"\ncopy_files = [{src = \"f\", dest = \"g\"}, {src = \"f\", dst = \"a/../../b\"}, {src = \"f\", dst = \"/b\"}, {src = \"f\", dst = \"a/b/\"}]\n", []string{
			`5:27 unknown key "dest" in [[agents.copy_files]] | did you mean "dst"?`,
			`5:52 agent "a": copy_files: dst "a/../../b" is outside the work dir | a path below`, `5:84 agent "a": copy_files: dst "/b" is outside the work dir`}},
		{"dialogs", "[[dialogs]]\nname = \"d\"\nwanted = \"Yes\"\noptions = [\"No\"]\n", []string{`3:3 dialog "d" has no detect texts`, `5:1 dialog "d": wanted "Yes" is not among its options`}},
		{"status rules", "[[status_rules]]\nname = \"d\"\nstate = \"ilde\"\nany = [\"x\"]\n", []string{`5:1 status_rules.state: "ilde" is not valid | did you mean "idle"?`}},
		{"status rules without effect", "[[status_rules]]\nname = \"d\"\nstate = \"idle\"\nkind = \"auth\"\nregion = \"top\"\nprovider = \"cluade\"\nany = [\"\"]\n", []string{
			`6:1 status rule "d": kind requires state = "blocked"`, `7:1 status_rules.region: "top" is not valid`, `8:1 status_rules.provider: no provider is named "cluade" | did you mean "claude"?`, `9:1 status rule "d": empty text in any`}},
		{"status rule without texts", "[[status_rules]]\nname = \"d\"\nstate = \"idle\"\nnot = [\"x\"]\n", []string{`3:3 status rule "d" has no text in all or any`}},
		{"port", "[api]\nport = 70000\n", []string{`4:1 api.port: 70000 is not a port`}},
		{"agents as table", "[agents]\nname = \"a\"\n", []string{`3:2 agents must be an array, not a table | write [[agents]]: there can be several`}},
		{"agent as table", "agent = 1\n[workspace]\nname=\"c\"\n", []string{`1:1 agents must be an array, not an integer`}},
		{"huge integer", "[api]\nport = 99999999999999999999\n", []string{`4:8 99999999999999999999 does not fit`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantProblems(t, tt.text, tt.want) })
	}
}

// wantProblems checks the problems of a city.toml: "line:column message | hint", each
// a prefix of what is found.
func wantProblems(t *testing.T, text string, want []string) {
	t.Helper()
	_, err := parse(t, text)
	var p *Problems
	if !errors.As(err, &p) {
		t.Fatalf("error %v", err)
	}
	for i, one := range p.List {
		got := strings.TrimPrefix(one.String(), "city.toml:")
		got = strings.Replace(got, ": ", " ", 1)
		if one.Hint != "" {
			got += " | " + one.Hint
		}
		if i >= len(want) || !strings.HasPrefix(got, want[i]) {
			t.Errorf("problem %d: %s", i, got)
		}
	}
	if len(p.List) < len(want) {
		t.Errorf("%d problems, want %d", len(p.List), len(want))
	}
	if strings.Contains(p.List[0].String(), "\n") {
		t.Error("a problem has more than one line")
	}
}

func TestDefaults(t *testing.T) {
	c := mustParse(t, "")
	if c.Session.Size != (Size{120, 40}) || c.Session.ScrollbackLines != 100_000 || c.Session.StartupTimeout != time.Minute ||
		c.Daemon.MaxRestarts != 5 || c.Daemon.PatrolInterval != 30*time.Second || c.API.Bind != "127.0.0.1" || c.API.Port != 0 {
		t.Errorf("defaults %+v %+v %+v", c.Session, c.Daemon, c.API)
	}
	c = mustParse(t, "[daemon]\nmax_restarts = 0\n[[agents]]\nname=\"p\"\n[agents.pool]\nmax=3\n")
	if c.Daemon.MaxRestarts != 0 {
		t.Error("a written zero stays")
	}
	if p := c.Agents[0].Pool; p.Check != "echo 1" || p.DrainTimeout != 5*time.Minute {
		t.Errorf("pool %+v", p)
	}
}

func TestByteOrderMark(t *testing.T) {
	c, err := Parse("/city/city.toml", []byte("\ufeff[workspace]\nname = \"c\"\n"))
	if err != nil || c.Name() != "c" {
		t.Errorf("%v", err)
	}
}

func TestBothSpellingsOfAgents(t *testing.T) {
	c := mustParse(t, "[[agent]]\nname = \"a\"\n[[agents]]\nname = \"b\"\n[[agent]]\nname = \"c\"\n")
	var names []string
	for _, a := range c.Agents {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestPresetsAreThoseOfTheTable(t *testing.T) {
	want := []string{
		"amp|amp --no-ide|arg||0|amp",
		"auggie|auggie --allow-indexing|arg||0|auggie",
		"claude|claude|arg|❯ |10000|node,claude",
		"codex|codex|arg|› |3000|codex",
		"copilot|copilot|flag|┃|5000|copilot",
		"cursor|cursor-agent|arg|→ |10000|cursor-agent",
		"gemini|gemini|arg|> |5000|gemini,node",
		"opencode|opencode|flag||8000|opencode,node,bun",
		"pi|pi|arg||8000|pi,node,bun",
		"qwen|qwen|flag|> |8000|qwen,node",
		"shell||none||0|",
	}
	all, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range PresetNames() {
		p := all[name]
		got = append(got, strings.Join([]string{name, strings.Join(append([]string{p.Command}, p.Args...), " "), p.PromptMode,
			p.ReadyPromptPrefix, time.Duration(p.ReadyDelayMS).String()[:len(time.Duration(p.ReadyDelayMS).String())-1], strings.Join(p.ProcessNames, ",")}, "|"))
	}
	for i := range got {
		got[i] = strings.NewReplacer("10µ", "10000", "3µ", "3000", "5µ", "5000", "8µ", "8000").Replace(got[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("presets (-want +got):\n%s", diff)
	}
	c := all["claude"]
	if !c.EmitsPermissionWarning || !c.SupportsACP || !c.SupportsHooks || c.ResumeFlag != "--resume" || c.SessionIDFlag != "--session-id" {
		t.Errorf("claude: %+v", c)
	}
	if o := all["opencode"]; o.PromptFlag != "--prompt" || !o.SupportsACP || o.Permissions[PermissionsBypass].Env["OPENCODE_PERMISSION"] != `{"*":"allow"}` {
		t.Errorf("opencode: %+v", o)
	}
	if x := all["codex"]; !x.SupportsHooks || x.ResumeStyle != "subcommand" {
		t.Errorf("codex: %+v", x)
	}
}

const layered = `
[workspace]
name = "c"
provider = "mine"
install_agent_hooks = ["claude"]

[providers.mine]
base = "claude"
args = ["--model", "big"]
env = { A = "provider", B = "$HOME/x" }
ready_delay_ms = 0

[[rigs]]
name = "web"
path = "../web"

[[agents]]
name = "one"
dir = "web"
args = ["--more"]
env = { A = "agent" }
depends_on = ["two"]

[[agents]]
name = "two"
dir = "web"
provider = "codex"
work_dir = "sub"

[[agents]]
name = "three"
start_command = "make test"
`

func TestResolutionAndOrigins(t *testing.T) {
	c := mustParse(t, layered)
	one, err := c.Resolve(&c.Agents[0])
	if err != nil {
		t.Fatal(err)
	}
	if one.Name != "web/one" || one.Command != "claude" || strings.Join(one.Args, " ") != "--model big --more" || one.Family != "claude" || one.Provider != "mine" {
		t.Errorf("one: %+v", one)
	}
	if one.ReadyDelayMS != 0 || one.ReadyPromptPrefix != "❯ " || !one.SupportsHooks || one.WorkDir != "/web" || one.RigRoot != "/web" || one.Rig != "web" {
		t.Errorf("one: %+v", one)
	}
	if diff := cmp.Diff([]string{"web/two"}, one.DependsOn); diff != "" {
		t.Error(diff)
	}
	env := one.ConfiguredEnv([]string{"HOME=/h"})
	if env["A"] != "agent" || env["B"] != "/h/x" {
		t.Errorf("env %v", env)
	}
	origins := map[string]string{
		"command": "preset claude (presets.toml:", "args": "agent (city.toml:20)", "ready_delay_ms": "providers.mine (city.toml:11)",
		"ready_prompt_prefix": "preset claude (presets.toml:", "provider": "workspace (city.toml:4)", "work_dir": "rig web (city.toml:15)",
		"env.A": "agent (city.toml:21)", "env.B": "providers.mine (city.toml:10)", "install_agent_hooks": "workspace (city.toml:5)",
		"attach": "default", "wake_mode": "default",
	}
	for k, want := range origins {
		if got := one.Origins[k].String(); !strings.HasPrefix(got, want) {
			t.Errorf("origin of %s: %s, want %s", k, got, want)
		}
	}
	two, _ := c.Resolve(&c.Agents[1])
	if two.Command != "codex" || two.WorkDir != "sub" || two.Family != "codex" {
		t.Errorf("two: %+v", two)
	}
	three, _ := c.Resolve(&c.Agents[2])
	if three.Command != "make test" || three.Provider != "" || len(three.Args) != 0 || three.WorkDir != "/city" || three.Origins["prompt_mode"].Source != "default" {
		t.Errorf("three: %+v", three)
	}
}

func TestProviderNamedAsAPreset(t *testing.T) {
	c := mustParse(t, "[providers.claude]\nenv = {X = \"1\"}\n[providers.codex]\nbase = \"\"\ncommand = \"mycodex\"\n"+
		"[[agents]]\nname = \"a\"\nprovider = \"claude\"\n[[agents]]\nname = \"b\"\nprovider = \"codex\"\n[[agents]]\nname = \"c\"\n")
	a, _ := c.Resolve(&c.Agents[0])
	if a.Command != "claude" || a.ProviderEnv["X"] != "1" || len(a.Args) != 0 || len(a.PermissionArgs) != 2 {
		t.Errorf("a: %+v", a)
	}
	b, _ := c.Resolve(&c.Agents[1])
	if b.Command != "mycodex" || b.ReadyPromptPrefix != "" || b.Family != "" {
		t.Errorf("b: %+v", b)
	}
	if none, _ := c.Resolve(&c.Agents[2]); none.Provider != "shell" || none.PromptMode != PromptNone {
		t.Errorf("no provider: %+v", none)
	}
}

func TestWorkspaceStartCommand(t *testing.T) {
	c := mustParse(t, "[workspace]\nname = \"c\"\nprovider = \"claude\"\nstart_command = \"run-claude\"\n[[agents]]\nname = \"a\"\n[[agents]]\nname = \"b\"\nprovider = \"codex\"\n")
	a, _ := c.Resolve(&c.Agents[0])
	b, _ := c.Resolve(&c.Agents[1])
	if a.Command != "run-claude" || len(a.Args) != 0 || a.ReadyPromptPrefix != "❯ " || b.Command != "codex" {
		t.Errorf("a %q %v, b %q", a.Command, a.Args, b.Command)
	}
}

func TestSuspendedByAnyLayer(t *testing.T) {
	c := mustParse(t, "[[rigs]]\nname=\"r\"\npath=\"p\"\nsuspended=true\n[[agents]]\nname=\"a\"\ndir=\"r\"\n[[agents]]\nname=\"b\"\nsuspended=true\n[[agents]]\nname=\"c\"\n")
	for i, want := range []bool{true, true, false} {
		if r, _ := c.Resolve(&c.Agents[i]); r.Suspended != want {
			t.Errorf("%s: suspended %v", r.Name, r.Suspended)
		}
	}
}

// A preset names its program's variables; the agent's own list replaces it.
func TestInheritEnvOfPresets(t *testing.T) {
	c := mustParse(t, `
[workspace]
name = "c"
[[agents]]
name = "a"
provider = "claude"
[[agents]]
name = "b"
provider = "claude"
inherit_env = ["ONLY_THIS", "MY_*"]
`)
	caller := []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_MODEL=m", "GH_TOKEN=", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "MY_X=1", "OTHER=2"}
	for name, want := range map[string]struct {
		env          map[string]string
		set, missing string
	}{
		"a": {map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_MODEL": "m", "GH_TOKEN": ""}, "ANTHROPIC_API_KEY ANTHROPIC_MODEL", "GH_TOKEN"},
		"b": {map[string]string{"MY_X": "1"}, "MY_X", "ONLY_THIS"},
	} {
		a, _ := c.Agent(name)
		r, err := c.Resolve(a)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.env, Inherit(caller, r.InheritEnv)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		set, missing := r.Named(caller)
		if strings.Join(set, " ") != want.set || !slices.Contains(missing, want.missing) {
			t.Errorf("%s: set %v, missing %v", name, set, missing)
		}
	}
}

func TestInherit(t *testing.T) {
	caller := []string{"HOME=/h", "PATH=/bin", "SECRET=s", "LC_ALL=C", "AWS_PROFILE=p", "https_proxy=x", "TERM=dumb", "GC_CITY=x", "HOME=/later", "=bad", "nothing"}
	want := map[string]string{"HOME": "/later", "PATH": "/bin", "LC_ALL": "C", "https_proxy": "x"}
	if diff := cmp.Diff(want, Inherit(caller, nil)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"GC_MUX_SOCKET": "/s"}, Inherit([]string{"GC_MUX_SOCKET=/s", "XDG_STATE_HOME=rel", "GC_SESSION=x"}, nil)); diff != "" {
		t.Error(diff)
	}
	want["AWS_PROFILE"], want["SECRET"] = "p", "s"
	if diff := cmp.Diff(want, Inherit(caller, []string{"AWS_*", "SECRET"})); diff != "" {
		t.Error(diff)
	}
}

func TestExpandVars(t *testing.T) {
	vars := map[string]string{"A": "1", "B_2": "two"}
	for in, want := range map[string]string{
		"$A": "1", "${A}x": "1x", "$B_2-": "two-", "$NONE.": ".", "a$": "a$", "$$A": "$1", "${A": "${A", "$1": "$1", "plain": "plain", "": "",
	} {
		if got := expandVars(in, vars); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestParseBytesAndSize(t *testing.T) {
	for in, want := range map[string]Bytes{"1": 1, "64MiB": 64 << 20, "2G": 2 << 30, "1.5 KB": 1500, "10B": 10} {
		if got, err := ParseBytes(in); err != nil || got != want {
			t.Errorf("%s: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "x", "-1", "NaN", "1e30TB", "Inf"} {
		if got, err := ParseBytes(in); err == nil {
			t.Errorf("%q gives %d", in, got)
		}
	}
	if s, err := ParseSize("80x24"); err != nil || s.String() != "80x24" {
		t.Errorf("size %v %v", s, err)
	}
}

func TestFind(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	city, other := filepath.Join(root, "city"), filepath.Join(root, "other")
	deep := filepath.Join(city, "a", "b")
	for _, d := range []string{deep, other} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{city, other} {
		if err := os.WriteFile(filepath.Join(d, FileName), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(kv ...string) func(string) string {
		return func(k string) string {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == k {
					return kv[i+1]
				}
			}
			return ""
		}
	}
	tests := []struct {
		flag, cwd string
		env       func(string) string
		want      string
	}{
		{"", deep, env(), city},
		{"", deep, env("GC_CITY_PATH", other), other},
		{city, root, env("GC_CITY_PATH", other), city},
		{"city", root, env(), city},
		{"city/city.toml", root, env(), city},
		{"", root, env("GC_CITY", other), other},
		{"", deep, env("GC_CITY", "a-name"), city},
		{"", root, env(), ""},
		{"nowhere", root, env(), ""},
	}
	for i, tt := range tests {
		got, err := Find(tt.flag, tt.cwd, tt.env)
		if got != tt.want || (tt.want == "") != errors.Is(err, ErrNoCity) {
			t.Errorf("%d: %q, %v", i, got, err)
		}
	}
}

func TestInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "My City!")
	file, err := Init(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name() != "My-City" || len(c.Agents) != 1 {
		t.Errorf("city %q, %d agents", c.Name(), len(c.Agents))
	}
	before, _ := os.ReadFile(file)
	if _, err := Init(dir); !errors.Is(err, ErrCityExists) {
		t.Errorf("second init: %v", err)
	}
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Error("the file was changed")
	}
	// Everything that is commented out is valid when uncommented.
	var lines []string
	for _, l := range strings.Split(string(before), "\n") {
		if rest, ok := strings.CutPrefix(l, "# "); ok {
			key, _, isKey := strings.Cut(rest, " = ")
			if strings.HasPrefix(rest, "[") || isKey && !strings.Contains(key, " ") {
				l = rest
			}
		}
		lines = append(lines, l)
	}
	if _, err := Parse(file, []byte(strings.Join(lines, "\n"))); err != nil {
		t.Errorf("with its comments taken out: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); !errors.Is(err, ErrNoCity) {
		t.Errorf("no file: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: %v", err)
	}
}

// FuzzLoad: any bytes give a city or problems, never a panic, and every agent
// resolves.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(layered))
	f.Add([]byte(InitText("x")))
	f.Add([]byte("[workspace]\nname='c'\n[[agents]]\nname='a'\nenv.A='1'\n[agents.pool]\nmax=-1\nnamepool=['x']\n"))
	f.Add([]byte("[[agents]\n"))
	f.Add([]byte("a.b.c=1\n[a.b]\nd=2\n"))
	f.Add([]byte("[[rigs]]\n[[rigs.x]]\n[rigs.x.y]\n"))
	f.Add([]byte("[providers]\nx={base='y'}\ny={base='x'}\n"))
	f.Add([]byte("\xff\xfe[workspace]\r\nname = \"\"\"\nx\"\"\"\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("/city/city.toml", data)
		if err != nil {
			var p *Problems
			if !errors.As(err, &p) || len(p.List) == 0 {
				t.Fatalf("error %v is not a list of problems", err)
			}
			return
		}
		for i := range c.Agents {
			r, err := c.Resolve(&c.Agents[i])
			if err != nil {
				t.Fatalf("agent %d: %v", i, err)
			}
			if r.Name == "" || r.WorkDir == "" {
				t.Fatalf("agent %d: %+v", i, r)
			}
		}
	})
}
