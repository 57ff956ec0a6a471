package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/config"
)

const city = `[workspace]
name = "a"
[[agents]]
name = "x"
description = "one"
start_command = "sh tools/run.sh --fast"
overlay_dir = "over"
session = "acp"
acp_command = "sh tools/run.sh --acp"
mcp_servers = ["gc", "db"]
[agents.acp]
deny = ["delete"]
[[mcp_servers]]
name = "db"
command = "./tools/db"
[session.acp]
ask_timeout = "5m"
`

// TestWhatAsksAgain: which changes need a new decision.
func TestWhatAsksAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		again  bool
	}{
		"nothing":     {func(*testing.T, string) {}, false},
		"comment":     {toml("[workspace]", "# a comment\n[workspace]"), false},
		"description": {toml(`"one"`, `"two"`), false},
		"city's name": {toml(`name = "a"`, `name = "b"`), false},
		"argument":    {toml("--fast", "--slow"), true},
		"new key":     {toml("overlay_dir", "nudge = \"ls\"\noverlay_dir"), true},
		"new agent":   {toml("[[agents]]", "[[agents]]\nname = \"y\"\n[[agents]]"), true},
		"script":      {file("tools/run.sh", "rm -rf /"), true},
		"overlay":     {file("over/hook", "new"), true},
		"acp command": {toml("--acp", "--acp --more"), true},
		"policy":      {toml(`deny = ["delete"]`, `permission = "allow"`), true},
		"MCP server":  {toml("./tools/db", "./tools/run.sh"), true},
		"its program": {file("tools/db", "other"), true},
		"ask timeout": {toml("5m", "6m"), false},
		"other file":  {file("README", "new"), false},
		"notify":      {toml("[workspace]", "[notify]\ncommand = \"say\"\n[workspace]"), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			file("city.toml", city)(t, dir)
			file("tools/run.sh", "echo ran")(t, dir)
			file("over/hook", "old")(t, dir)
			file("tools/db", "serve")(t, dir)
			s, err := DefaultStore(func(k string) string { return map[string]string{"XDG_STATE_HOME": state}[k] })
			if err != nil {
				t.Fatal(err)
			}
			if s.Trusts(inspect(t, dir)) {
				t.Fatal("trusted before anybody did")
			}
			if err := s.Add(inspect(t, dir), false); err != nil {
				t.Fatal(err)
			}
			c.change(t, dir)
			if got := !s.Trusts(inspect(t, dir)); got != c.again {
				t.Errorf("a new decision is needed: %v, want %v", got, c.again)
			}
		})
	}
}

func TestWhatRunsOverACP(t *testing.T) {
	dir := t.TempDir()
	file("city.toml", strings.Replace(city, `mcp_servers = ["gc", "db"]`, `mcp_servers = ["gc", "db", "web"]`, 1)+"[[mcp_servers]]\nname = \"web\"\nurl = \"https://me:pass@h/mcp\"\n")(t, dir)
	runs := strings.Join(inspect(t, dir).Runs, "\n")
	for _, want := range []string{"agent x, over acp: sh tools/run.sh --acp", "agent x, MCP server db: " + dir + "/tools/db", "agent x, MCP server web: https://me:xxxxx@h/mcp"} {
		if !strings.Contains(runs, want) {
			t.Errorf("%q is missing in:\n%s", want, runs)
		}
	}
}

// A command of an agent on another machine names files there; a file of the same name here
// is not its program. A pool's check runs here.
func TestProgramsOfAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	far := `[workspace]
name = "a"
[[agents]]
name = "x"
session = "ssh://far"
start_command = "sh tools/run.sh"
pre_start = ["sh tools/pre.sh"]
[agents.pool]
max = 2
check = "sh tools/check.sh"
`
	for name, text := range map[string]string{"city.toml": far, "tools/run.sh": "x", "tools/pre.sh": "x", "tools/check.sh": "x"} {
		file(name, text)(t, dir)
	}
	v := inspect(t, dir)
	if v.Files[dir+"/tools/check.sh"] == "" || v.Files[dir+"/tools/run.sh"] != "" || v.Files[dir+"/tools/pre.sh"] != "" {
		t.Errorf("files %v", v.Files)
	}
	if runs := strings.Join(v.Runs, "\n"); !strings.Contains(runs, "sh tools/run.sh") || !strings.Contains(runs, "sh tools/pre.sh") {
		t.Errorf("runs %s", runs)
	}
}

func inspect(t *testing.T, dir string) Survey {
	t.Helper()
	c, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Inspect(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func toml(old, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		file("city.toml", strings.Replace(city, old, text, 1))(t, dir)
	}
}

func file(name, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordOfAnother: a record that others could have written is ignored.
func TestRecordOfAnother(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	file("city.toml", city)(t, dir)
	s := Store{dir: state}
	v := inspect(t, dir)
	if err := s.Add(v, true); err != nil || !s.Trusts(v) {
		t.Fatalf("add: %v", err)
	}
	if err := os.Chmod(s.path(v.City), 0o666); err != nil {
		t.Fatal(err)
	}
	if s.Trusts(v) {
		t.Error("a record that others may write is believed")
	}
}
