// Package owned knows which background commands of a session run.
//
// Its invariant: its lock is taken last, so that any code may ask. The server tells it of
// sessions that begin and end; it knows nothing else about them.
package owned

import (
	"slices"
	"strings"
	"sync"

	"gascity.dev/gc/mux/api"
)

// Table holds the commands by their owners. The zero value is ready.
type Table struct {
	mu      sync.Mutex
	byOwner map[string][]api.Work
}

// Begin notes that a command of the owner runs.
func (t *Table) Begin(owner string, w api.Work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byOwner == nil {
		t.byOwner = map[string][]api.Work{}
	}
	t.byOwner[owner] = append(t.byOwner[owner], w)
}

// End notes that it does not run any more.
func (t *Table) End(owner, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := slices.DeleteFunc(t.byOwner[owner], func(w api.Work) bool { return w.ID == id })
	if len(left) == 0 {
		delete(t.byOwner, owner)
		return
	}
	t.byOwner[owner] = left
}

// Of returns the owner's commands, oldest first.
func (t *Table) Of(owner string) []api.Work {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Clone(t.byOwner[owner])
	slices.SortFunc(list, func(a, b api.Work) int { return strings.Compare(a.ID, b.ID) })
	return list
}
