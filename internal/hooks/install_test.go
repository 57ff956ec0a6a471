package hooks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/hooks"
)

// settings is what claude and qwen read.
type settings struct {
	Hooks map[string][]struct {
		Matcher string
		Hooks   []struct{ Type, Command string }
	}
	Theme string
}

func parse(t *testing.T, text []byte) (s settings) {
	t.Helper()
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return s
}

// TestSettings: gc's hooks are added to the user's, and nothing of the user's is lost.
func TestSettings(t *testing.T) {
	text, err := hooks.Settings("claude", nil)
	if err != nil {
		t.Fatal(err)
	}
	for event, list := range parse(t, text).Hooks {
		if len(list) != 1 || list[0].Hooks[0].Command != `"${GC_BIN:-gc}" report --hook claude` || list[0].Hooks[0].Type != "command" {
			t.Errorf("%s: %+v", event, list)
		}
	}
	own := `{"theme": "x", "hooks": {"Stop": [{"matcher": "m", "hooks": [{"type": "command", "command": "mine"}]}], "Other": []}, "n": 12345678901234567890}`
	if text, err = hooks.Settings("qwen", []byte(own)); err != nil {
		t.Fatal(err)
	}
	s := parse(t, text)
	var stop []string
	for _, m := range s.Hooks["Stop"] {
		stop = append(stop, m.Matcher+":"+m.Hooks[0].Command)
	}
	if diff := cmp.Diff([]string{"m:mine", `:"${GC_BIN:-gc}" report --hook qwen`}, stop); diff != "" {
		t.Error(diff)
	}
	if _, ok := s.Hooks["Other"]; !ok || s.Theme != "x" || !strings.Contains(string(text), "12345678901234567890") {
		t.Errorf("lost: %s", text)
	}
	for _, bad := range []string{"null", "[]", "// no\n{}", `{"hooks": []}`, `{"hooks": null}`, `{"hooks": {"Stop": {}}}`, "{"} {
		if text, err := hooks.Settings("claude", []byte(bad)); err == nil {
			t.Errorf("%s: %s", bad, text)
		}
	}
}

func TestPlugin(t *testing.T) {
	for own, want := range map[string]string{
		"":                            `{"plugin":["file:///c/x.js"]}`,
		`{"theme":"x"}`:               `{"plugin":["file:///c/x.js"],"theme":"x"}`,
		`{"plugin":["mine",["a",1]]}`: `{"plugin":["mine",["a",1],"file:///c/x.js"]}`,
	} {
		if got, err := hooks.WithPlugin(own, "/c/x.js"); err != nil || got != want {
			t.Errorf("%s: %s, %v", own, got, err)
		}
	}
	for _, bad := range []string{"null", "//", `{"plugin":"x"}`} {
		if got, err := hooks.WithPlugin(bad, "/x"); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// TestEveryCallIsUnderstood: what gc's own plugin and extension send has a meaning.
func TestEveryCallIsUnderstood(t *testing.T) {
	for vendor, text := range map[string][]byte{"pi": hooks.PiExtension, "opencode": hooks.OpenCodePlugin} {
		for _, event := range []string{"working", "done", "error"} {
			c, err := hooks.Parse(vendor, []byte(`{"event":"`+event+`"}`))
			if err != nil || c.State != event || !strings.Contains(string(text), `"`+event+`"`) {
				t.Errorf("%s %s: %+v, %v", vendor, event, c, err)
			}
		}
	}
	if !slices.Equal(hooks.Vendors(), []string{"claude", "codex", "gemini", "opencode", "pi", "qwen"}) {
		t.Error(hooks.Vendors())
	}
}
