//go:build agents

package agents

import (
	"path/filepath"
	"testing"
)

// TestFresh: an agent whose first start is with the permission level bypass, in a directory
// that it has never seen, does not ask.
func TestFresh(t *testing.T) {
	for _, a := range agents {
		if a.allow == nil {
			continue
		}
		t.Run(a.preset, func(t *testing.T) {
			j := &journey{world: newWorld(t), agent: a, stub: newStub(t), said: map[string]string{}, won: map[string]string{}}
			defer func() {
				if t.Failed() {
					j.dump(j.stub)
				}
			}()
			j.setUp()
			j.configure("bypass")
			j.gc("start", "--trust")
			j.comesUp("dialogs")
			j.runsUnasked("tag-fresh TRY(touch fresh.txt)", filepath.Join(j.city, "fresh.txt"))
		})
	}
}
