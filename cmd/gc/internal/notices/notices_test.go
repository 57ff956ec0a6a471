package notices

import (
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

func TestAttention(t *testing.T) {
	t.Parallel()
	old := api.Attention{ID: "question/a/1", Kind: "question", Agent: "a", Text: "old?"}
	asks := api.Attention{ID: "question/a/2", Kind: "question", Agent: "a", Text: "rm \x1b]0;x\a\u009dnow?\nyes"}
	stuck := api.Attention{ID: "stuck/b/1", Kind: "stuck", Agent: "b", Text: strings.Repeat("long ", 100)}
	lost := api.Attention{ID: "lost/c", Kind: "lost", Agent: "c", Text: "gone"}
	for mode, want := range map[string]string{
		"": "\x1b]9;a: question: ", "osc9": "\x1b]9;a: question: ", "osc99": "\x1b]99;;a: question: ", "bell": "\a", "off": "",
	} {
		term := Terminal{Mode: mode}
		if got := term.Attention([]api.Attention{old}); len(got) != 0 {
			t.Errorf("%s: it reports what began before the attach: %q", mode, got)
		}
		got := string(term.Attention([]api.Attention{old, asks, lost}))
		if !strings.HasPrefix(got, want) || mode == "off" && got != "" {
			t.Errorf("%s: %q", mode, got)
		}
		body := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(got, "\x1b]"), "\a"), "\x1b\\")
		if strings.ContainsAny(body, "\x1b\a\n\u009d") {
			t.Errorf("%s: control characters in %q", mode, got)
		}
		if again := term.Attention([]api.Attention{old, asks}); len(again) != 0 {
			t.Errorf("%s: told twice: %q", mode, again)
		}
		if got := term.Attention([]api.Attention{stuck}); len(got) > 300 || mode == "" && !strings.Contains(string(got), "b: stuck: long") {
			t.Errorf("%s: %q", mode, got)
		}
	}
}

// TestAskedAgain: the same question after an answer is another occasion.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	began := time.Now()
	ask := func(after time.Duration) []api.Attention {
		return []api.Attention{{ID: "question/a/1", Kind: "question", Agent: "a", Request: "1", Since: began.Add(after)}}
	}
	var term Terminal
	for _, c := range []struct {
		after time.Duration
		rings bool
	}{{0, false}, {time.Millisecond, false}, {2 * time.Second, true}, {2 * time.Second, false}} {
		if got := term.Attention(ask(c.after)); (len(got) > 0) != c.rings {
			t.Errorf("%v later: %q", c.after, got)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	agent := func(name, activity string) api.AgentStatus {
		return api.AgentStatus{Name: name, State: api.StateRunning, Activity: activity, ActivityInfo: &runtime.Activity{Kind: "permission"}}
	}
	var term Terminal
	got := string(term.Status([]api.AgentStatus{agent("rig/a", "idle"), agent("b", "stuck"), agent("ä", "idle"), agent("c", "unknown")}))
	if want := "\x1b]7501;state=idle:id=gc/rig/a:app=gc:title=cmlnL2E=\x1b\\\x1b]7501;state=error:id=gc/b:app=gc:title=Yg==\x1b\\"; got != want {
		t.Errorf("%q", got)
	}
	if got := term.Status([]api.AgentStatus{agent("rig/a", "idle"), agent("b", "stuck")}); len(got) != 0 {
		t.Errorf("nothing changed: %q", got)
	}
	got = string(term.Status([]api.AgentStatus{agent("rig/a", "blocked")}))
	if want := "\x1b]7501;state=blocked:kind=permission:id=gc/rig/a:app=gc:title=cmlnL2E=\x1b\\\x1b]7501;state=clear:id=gc/b\x1b\\"; got != want {
		t.Errorf("%q", got)
	}
	if got := string(term.Clear()); got != "\x1b]7501;state=clear:id=gc/rig/a\x1b\\" {
		t.Errorf("%q", got)
	}
	off := Terminal{Mode: "off"}
	if got := off.Status([]api.AgentStatus{agent("a", "idle")}); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
