package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/runtime"
)

// started starts an agent of a city in dir, with its files.
func started(t *testing.T, dir, toml string) (*Spec, runtime.Config) {
	t.Helper()
	s := specs(t, dir, "[[agents]]\nname = \"a\"\n"+toml)[0]
	cfg, err := s.StartConfig(instance)
	if err == nil {
		err = s.WriteFiles(&cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, cfg
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", file, st.Mode(), err)
	}
	return string(b)
}

const calls = `\"${GC_BIN:-gc}\" report --hook `

// TestHooksAreInstalled: each program gets its hooks in its own way, for one session.
func TestHooksAreInstalled(t *testing.T) {
	dir := t.TempDir()
	_, cfg := started(t, dir, "provider = \"claude\"\n")
	if !strings.Contains(cfg.Command, ` --settings '{"hooks":{`) || !strings.Contains(cfg.Command, calls+"claude") {
		t.Error(cfg.Command)
	}
	_, cfg = started(t, dir, "provider = \"qwen\"\n")
	if text := read(t, cfg.Env["QWEN_CODE_SYSTEM_SETTINGS_PATH"]); !strings.Contains(text, calls+"qwen") {
		t.Error(text)
	}
	_, cfg = started(t, dir, "provider = \"codex\"\n")
	if !strings.Contains(cfg.Command, ` -c 'notify=["/bin/sh","-c","exec `+calls+`codex \"$@\"","gc"]'`) {
		t.Error(cfg.Command)
	}
	s, cfg := started(t, dir, "provider = \"pi\"\n")
	file := filepath.Join(dir, ".gc", "hooks", s.Session+".ts")
	if !strings.Contains(cfg.Command, " -e "+file) || !strings.Contains(read(t, file), "agent_end") {
		t.Error(cfg.Command)
	}
	s, cfg = started(t, dir, "provider = \"opencode\"\nmcp_servers = [\"gc\"]\n")
	file = filepath.Join(dir, ".gc", "hooks", s.Session+".js")
	if c := cfg.Env["OPENCODE_CONFIG_CONTENT"]; !strings.Contains(c, `"plugin":["file://`+file+`"]`) || !strings.Contains(c, `"mcp":{`) {
		t.Error(c)
	}
	read(t, file)
}

// TestHooksAreNotInstalled: where they are turned off, where another program runs, where
// nobody hears them, and where the user has what cannot be merged.
func TestHooksAreNotInstalled(t *testing.T) {
	for name, toml := range map[string]string{
		"off":             "provider = \"claude\"\nhooks = false\n",
		"off in the city": "provider = \"claude\"\n[agent_defaults]\nhooks = false\n",
		"another program": "provider = \"claude\"\nstart_command = \"./wrapper\"\n",
		"no such preset":  "provider = \"gemini\"\n",
		"no multiplexer":  "provider = \"claude\"\nsession = \"tmux\"\n",
		"over ACP":        "provider = \"claude\"\nsession = \"acp\"\n",
		"unclear notify":  "provider = \"codex\"\nargs = [\"-c\", \"notify=x\"]\n",
		"notify command":  "provider = \"codex\"\nstart_command = \"codex -c notify=[]\"\nhooks = true\n",
	} {
		dir := t.TempDir()
		_, cfg := started(t, dir, toml)
		if strings.Contains(cfg.Command, "report --hook") || cfg.Env["OPENCODE_CONFIG_CONTENT"] != "" {
			t.Errorf("%s: %s", name, cfg.Command)
		}
		if _, err := os.Stat(filepath.Join(dir, ".gc", "hooks")); err == nil {
			t.Errorf("%s: a file", name)
		}
	}
	_, cfg := started(t, t.TempDir(), "provider = \"claude\"\nstart_command = \"./wrapper\"\nhooks = true\n")
	if !strings.Contains(cfg.Command, "report --hook") {
		t.Error("asked for, and not installed:", cfg.Command)
	}
}

// TestOwnSettings: the user's own settings stay, or the start says why not.
func TestOwnSettings(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "mine.json")
	if err := os.WriteFile(own, []byte(`{"env":{"KEY":"secret"},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, cfg := started(t, dir, "provider = \"claude\"\nargs = [\"--model\", \"m\", \"--settings\", \"mine.json\"]\n")
	file := filepath.Join(dir, ".gc", "hooks", s.Session+".json")
	if strings.Count(cfg.Command, "--settings") != 1 || !strings.HasSuffix(cfg.Command, "--model m --settings "+file) || strings.Contains(cfg.Command, "secret") {
		t.Error(cfg.Command)
	}
	if text := read(t, file); !strings.Contains(text, "secret") || !strings.Contains(text, `"mine"`) || !strings.Contains(text, calls) {
		t.Error(text)
	}
	_, cfg = started(t, dir, "provider = \"claude\"\nargs = ['--settings={\"theme\":\"its\"}']\n")
	if strings.Count(cfg.Command, "--settings") != 1 || !strings.Contains(cfg.Command, `"theme":"its"`) || !strings.Contains(cfg.Command, calls) {
		t.Error(cfg.Command)
	}
	_, cfg = started(t, dir, "provider = \"qwen\"\nenv = { QWEN_CODE_SYSTEM_SETTINGS_PATH = \""+own+"\" }\n")
	if at := cfg.Env["QWEN_CODE_SYSTEM_SETTINGS_PATH"]; at == own || !strings.Contains(read(t, at), `"mine"`) {
		t.Error(at)
	}
	if text := read(t, own); json.Valid([]byte(text)) && strings.Contains(text, "report") {
		t.Error("the user's file was written:", text)
	}
	for name, tt := range map[string]struct{ toml, want string }{
		"in the command":  {"provider = \"claude\"\nstart_command = \"claude --settings x.json\"\n", "its command has --settings"},
		"no such file":    {"provider = \"claude\"\nargs = [\"--settings\", \"none.json\"]\n", "none.json"},
		"not JSON":        {"provider = \"claude\"\nargs = [\"--settings\", \"{x}\"]\n", "--settings cannot be merged"},
		"another machine": {"provider = \"claude\"\nsession = \"ssh://far\"\nargs = [\"--settings\", \"x.json\"]\n", "it cannot be read from here"},
		"plugin":          {"provider = \"opencode\"\nenv = { OPENCODE_CONFIG_CONTENT = \"//\" }\n", "OPENCODE_CONFIG_CONTENT cannot be merged"},
	} {
		_, err := specs(t, dir, "[[agents]]\nname = \"a\"\n"+tt.toml)[0].StartConfig(instance)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, cfg = started(t, dir, "provider = \"claude\"\nhooks = false\nargs = [\"--settings\", \"none.json\"]\n")
	if !strings.HasSuffix(cfg.Command, "--settings none.json") {
		t.Error(cfg.Command)
	}
}

// TestHooksOnAnotherMachine: a program that loads its hooks from a file gets it in its work
// directory there; one whose settings there the file would replace gets one that gc makes
// there.
func TestHooksOnAnotherMachine(t *testing.T) {
	const far = "session = \"ssh://far\"\nwork_dir = \"/w\"\n"
	for name, c := range map[string]struct{ toml, file string }{
		"pi":                   {"provider = \"pi\"\n" + far, ".ts"},
		"opencode":             {"provider = \"opencode\"\n" + far, ".js"},
		"without a directory":  {"provider = \"pi\"\nsession = \"ssh://far\"\n", ""},
		"qwen in no directory": {"provider = \"qwen\"\nsession = \"ssh://far\"\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, cfg := started(t, t.TempDir(), c.toml)
			there := ".gc/hooks/" + s.Session + c.file
			named := strings.Contains(cfg.Command, "-e /w/"+there) || strings.Contains(cfg.Env["OPENCODE_CONFIG_CONTENT"], "file:///w/"+there)
			if c.file == "" {
				if len(cfg.CopyFiles) != 0 || strings.Contains(cfg.Command, "hooks") || len(cfg.Env["OPENCODE_CONFIG_CONTENT"])+len(cfg.Env["QWEN_CODE_SYSTEM_SETTINGS_PATH"]) > 0 {
					t.Errorf("%s, %v, %+v", cfg.Command, cfg.Env, cfg.CopyFiles)
				}
				return
			}
			if len(cfg.CopyFiles) != 1 || cfg.CopyFiles[0].RelDst != there || !named {
				t.Fatalf("%s, %v, %+v", cfg.Command, cfg.Env, cfg.CopyFiles)
			}
			read(t, cfg.CopyFiles[0].Src)
		})
	}
}

// TestHooksMadeThere: the start has gc make the file on the agent's machine, with what is
// known here of the user's own.
func TestHooksMadeThere(t *testing.T) {
	for where, place := range map[string]struct{ toml, dir string }{
		"by ssh":   {"session = \"ssh://far\"\nwork_dir = \"/w\"\n", "/w"},
		"in a pod": {"session = \"k8s\"\nk8s = { image = \"x\" }\n", "/workspace"},
	} {
		for name, c := range map[string]struct{ toml, env, line string }{
			"qwen": {"provider = \"qwen\"\n", "", `'qwen' 'FILE.json'`},
			"qwen's own": {
				"provider = \"qwen\"\nenv = { QWEN_CODE_SYSTEM_SETTINGS_PATH = \"/own it\" }\n", "", `'qwen' 'FILE.json' '/own it'`,
			},
			"codex":        {"provider = \"codex\"\n", "", `'codex' 'FILE.sh'`},
			"codex's own":  {"provider = \"codex\"\nargs = [\"-c\", \"notify=['mine', '-n']\"]\n", "", `'codex' 'FILE.sh' 'mine' '-n'`},
			"codex's home": {"provider = \"codex\"\nenv = { CODEX_HOME = \"/c\" }\n", "CODEX_HOME='/c' ", `'codex' 'FILE.sh'`},
		} {
			t.Run(name+" "+where, func(t *testing.T) {
				file := place.dir + "/.gc/hooks/gc-city-a"
				line := c.env + `"$GC_BIN" hook-file ` + strings.ReplaceAll(c.line, "FILE", file)
				s, cfg := started(t, t.TempDir(), c.toml+place.toml+"pre_start = [\"first\"]\n")
				if len(cfg.PreStart) != 2 || cfg.PreStart[0] != "first" || cfg.PreStart[1] != line {
					t.Errorf("%q, want %q", cfg.PreStart, line)
				}
				if len(s.Config.PreStart) != 1 || len(cfg.CopyFiles) != 0 {
					t.Errorf("the agent's own: %q; files %+v", s.Config.PreStart, cfg.CopyFiles)
				}
				named := strings.HasSuffix(cfg.Command, ` -c 'notify=["/bin/sh","`+file+`.sh"]'`) || cfg.Env["QWEN_CODE_SYSTEM_SETTINGS_PATH"] == file+".json"
				if !named {
					t.Errorf("%s, %v", cfg.Command, cfg.Env)
				}
			})
		}
	}
}

// TestWriteHookFile: the file that is made on the agent's own machine has what the user has
// there.
func TestWriteHookFile(t *testing.T) {
	dir := t.TempDir()
	settings := filepath.Join(dir, "settings.json")
	for path, text := range map[string]string{
		settings: `{"theirs": 1}`, filepath.Join(dir, "broken.json"): `{`,
		filepath.Join(dir, "codex", "config.toml"): "notify = [\"their own\", \"-n\"]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("QWEN_CODE_SYSTEM_SETTINGS_PATH", settings)
	t.Setenv("CODEX_HOME", filepath.Join(dir, "codex"))
	for _, c := range []struct {
		style string
		own   []string
		want  []string
		fails bool
	}{
		{"qwen", nil, []string{`"theirs":1`, "report --hook qwen"}, false},
		{"qwen", []string{filepath.Join(dir, "none.json")}, []string{"report --hook qwen"}, false},
		{"qwen", []string{filepath.Join(dir, "broken.json")}, nil, true},
		{"codex", nil, []string{"report --hook codex", `exec 'their own' '-n' "$@"`}, false},
		{"codex", []string{"said", "here"}, []string{"exec 'said' 'here' "}, false},
		{"claude", nil, nil, true},
	} {
		file := filepath.Join(t.TempDir(), ".gc", "hooks", "x")
		if err := WriteHookFile(c.style, file, c.own); (err != nil) != c.fails {
			t.Errorf("%s %q: %v", c.style, c.own, err)
			continue
		}
		text, err := os.ReadFile(file)
		if c.fails != (err != nil) {
			t.Errorf("%s %q: %v", c.style, c.own, err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s %q: no %s in %s", c.style, c.own, want, text)
			}
		}
		if info, err := os.Stat(file); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", c.style, info.Mode())
		}
	}
	t.Setenv("CODEX_HOME", dir) // without a config.toml
	file := filepath.Join(dir, "x.sh")
	if err := WriteHookFile("codex", file, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "exec ") {
		t.Errorf("without a notify of the user's: %s, %v", text, err)
	}
}
