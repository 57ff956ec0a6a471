package attached

import (
	"context"
	"sync"
	"testing"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// fake is a session without a program.
type fake struct {
	sync.Mutex
	term    *vt.Terminal
	clients Clients
	typed   []byte
}

func newFake(t *testing.T) *fake {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{term: term}
	f.clients = New(f)
	return f
}

func (f *fake) cols() int {
	cols, _ := f.term.Size()
	return cols
}

func (f *fake) Type(_ context.Context, _ *journal.Typist, p []byte) error {
	f.typed = append(f.typed, p...)
	return nil
}

func (f *fake) ID() string                                    { return "id" }
func (f *fake) Name() string                                  { return "name" }
func (f *fake) Interrupted()                                  {}
func (f *fake) Exit() *api.Exit                               { return nil }
func (f *fake) Ending() bool                                  { return false }
func (f *fake) View() *vt.Terminal                            { return f.term }
func (f *fake) Rendered() uint64                              { return 0 }
func (f *fake) Raw(int, int) bool                             { return false }
func (f *fake) Segment() (base uint64, output, before []byte) { return 0, nil, nil }
func (f *fake) Typist(uint64) (*journal.Typist, error)        { return nil, nil }
func (f *fake) Resize(cols, rows int) error                   { return f.term.Resize(cols, rows) }
func (f *fake) SetHost(vt.HostTerminal)                       {}
func (f *fake) Configured() (cols, rows int)                  { return 80, 24 }
func (f *fake) Repaint()                                      {}
func (f *fake) Seen()                                         {}
func (f *fake) Drafted()                                      {}
func (f *fake) Changed()                                      {}
func (f *fake) Publish(api.Event)                             {}
