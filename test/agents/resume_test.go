//go:build agents

package agents

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestResumed: the first message after a start that resumes a conversation, sent as soon as
// the agent is idle or before that: what is reported as submitted reaches the model.
func TestResumed(t *testing.T) {
	for _, a := range agents {
		if !a.keeps {
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
			for i := range 4 { // something to resume
				j.arrives(fmt.Sprintf("tag-%c please", 'a'+i))
			}
			for i := range 3 {
				j.gc("stop")
				j.gc("start", "--trust")
				text := fmt.Sprintf("tag-again%c", 'a'+i)
				out := j.gc("nudge", name, text, "--timeout", "60s")
				t.Logf("%d: %s", i, strings.TrimSpace(out))
				if !strings.HasPrefix(out, "submitted") {
					t.Errorf("receipt: %s", out)
				}
				j.until(turn, "the model gets "+text, func() bool { _, ok := j.stub.asked(text); return ok })
				j.rests()
			}
		})
	}
}
