//go:build agents

package agents

import (
	"strings"
	"testing"
	"time"
)

// TestBare: an agent without key, login or network. gc reports what a person
// must do, and a message to it is not reported as submitted.
func TestBare(t *testing.T) {
	for _, a := range agents {
		t.Run(a.preset, func(t *testing.T) {
			if a.bare == "" {
				t.Log("it works without a key")
				return
			}
			nobody := *a
			nobody.env, nobody.files = nil, nil
			j := &journey{world: newWorld(t), agent: &nobody, stub: newStub(t), took: map[string]time.Duration{}, said: map[string]string{}}
			defer func() {
				if t.Failed() {
					j.dump(j.stub)
				}
			}()
			j.setUp()
			start := j.on("start", "--trust")
			if a.bare != blockedAuth {
				if start.code == 0 || !strings.Contains(start.err, a.bare) {
					t.Errorf("want %q: %s", a.bare, start)
				}
				return
			}
			if r := j.on("wait", name, "--until", "blocked", "--timeout", turn.String()); r.code != 0 {
				t.Fatal(r)
			}
			if st := j.gc("status"); !strings.Contains(st, blockedAuth) {
				t.Errorf("status:\n%s", st)
			}
			if q := j.pending(); q.Kind != "auth" {
				t.Errorf("the question: %s", q)
			}
			if r := j.on("nudge", name, "hello"); r.code == 0 || strings.HasPrefix(r.out, "submitted") {
				t.Error(r)
			}
		})
	}
}
