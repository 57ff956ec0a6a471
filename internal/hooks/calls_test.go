package hooks_test

import (
	"os"
	"strings"
	"testing"

	"gascity.dev/gc/internal/hooks"
)

// TestCalls: what real agents sent, a call a line: the agent, the JSON, and after "=>" the
// meaning.
func TestCalls(t *testing.T) {
	data, err := os.ReadFile("testdata/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		call, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
		vendor, input, _ := strings.Cut(call, " ")
		c, err := hooks.Parse(vendor, []byte(input))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := strings.Join([]string{c.Hook, c.State, c.Kind, c.Message}, "|"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", call, got, want)
		}
		n++
	}
	if n < 12 {
		t.Error("only", n, "calls")
	}
}

// TestBadCalls: input that is cut, or no call at all.
func TestBadCalls(t *testing.T) {
	c, err := hooks.Parse("claude", []byte(`{"hook_event_name":"Stop","last_assistant_message":"abc","more":{"x":[1,`))
	if err != nil || c.State != "done" || c.Message != "abc" {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = hooks.Parse("claude", []byte(`{"hook_event_name":"Stop","last_assistant_message":"abc`))
	if err != nil || c.State != "done" || c.Message != "" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, in := range []string{"", "null", "[]", "{", `{"hook_event_name":1}`, `{"type":"Stop"}`, "\x00\xff", strings.Repeat("[", 100_000)} {
		if c, err := hooks.Parse("qwen", []byte(in)); err == nil {
			t.Errorf("%.40q: %+v", in, c)
		}
	}
	if _, err := hooks.Parse("nobody", []byte(`{"hook_event_name":"Stop"}`)); err == nil || !strings.Contains(err.Error(), "claude, codex, gemini") {
		t.Error(err)
	}
}
