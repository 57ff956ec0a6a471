package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCodexCallsTheUsersProgramToo: codex notifies one program. With a user's own, from the
// arguments or config.toml, it is a script that calls gc and then that one.
func TestCodexCallsTheUsersProgramToo(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	program := func(name string) string {
		path := filepath.Join(dir, name)
		text := "#!/bin/sh\nprintf '%s|' \"${0##*/}\" \"$@\" >>" + log + "\n"
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gc, mine := program("gc"), program("my own")
	home := filepath.Join(dir, ".codex")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	own := "model = \"m\"\nnotify = [\n  \"" + mine + "\",\n  \"-x y\",\n]\n\n[tui]\nnotifications = true\n"
	for name, c := range map[string]struct{ config, toml, want string }{
		"config.toml": {own, "", "gc|report|--hook|codex|{\"a\": 1}|my own|-x y|{\"a\": 1}|"},
		"an argument": {own, "args = ['-c', 'notify=[\"" + mine + "\"]']\n", "gc|report|--hook|codex|{\"a\": 1}|my own|{\"a\": 1}|"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			os.Remove(log)
			s, cfg := started(t, dir, "provider = \"codex\"\nenv = { CODEX_HOME = \""+home+"\" }\n"+c.toml)
			file := filepath.Join(dir, ".gc", "hooks", s.Session+".sh")
			if !strings.Contains(cfg.Command, ` -c 'notify=["/bin/sh","`+file+`"]'`) {
				t.Fatal(cfg.Command)
			}
			read(t, file) // with its mode
			cmd := exec.Command("/bin/sh", file, `{"a": 1}`)
			cmd.Env = append(os.Environ(), "GC_BIN="+gc)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got, err := os.ReadFile(log); err != nil || string(got) != c.want {
				t.Errorf("called %s, %v; want %s", got, err, c.want)
			}
			if text, err := os.ReadFile(filepath.Join(home, "config.toml")); err != nil || string(text) != c.config {
				t.Errorf("the user's file: %s, %v", text, err)
			}
		})
	}
	for name, text := range map[string]string{"not TOML": "notify = ", "another table": "[profiles.x]\nnotify = [\"x\"]\n"} {
		if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, cfg := started(t, dir, "provider = \"codex\"\nenv = { CODEX_HOME = \""+home+"\" }\n"); strings.Contains(cfg.Command, "notify") {
			t.Errorf("%s: %s", name, cfg.Command)
		}
	}
}
