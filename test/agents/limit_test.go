//go:build agents

package agents

import (
	"strings"
	"testing"
	"time"
)

// TestLimited: an agent whose provider refuses its requests is limited, once it gives up, or
// says that it waits. Qwen tries again for minutes and does not say so.
func TestLimited(t *testing.T) {
	for _, a := range agents {
		if a.preset == "qwen" {
			continue
		}
		t.Run(a.preset, func(t *testing.T) {
			j := &journey{world: newWorld(t), agent: a, stub: newStub(t), took: map[string]time.Duration{}, said: map[string]string{}, won: map[string]string{}}
			defer func() {
				if t.Failed() {
					j.dump(j.stub)
				}
			}()
			j.setUp()
			j.gc("start", "--trust")
			j.comesUp("dialogs")
			j.nudge("tag-limit " + limited)
			j.gc("wait", name, "--until", "blocked", "--timeout", turn.String())
			if a := j.status(); a.ActivityInfo == nil || a.ActivityInfo.Limit == nil {
				t.Errorf("not limited: %+v", a)
			}
			if text := j.gc("attention"); !strings.Contains(text, "limited") && !strings.Contains(text, "Usage limit") {
				t.Errorf("attention:\n%s", text)
			}
		})
	}
}
