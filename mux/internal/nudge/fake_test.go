package nudge

import (
	"context"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/fifo"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
	"golang.org/x/sys/unix"
)

// fake is a session whose program is a function.
type fake struct {
	sync.Mutex
	lock    *fifo.Lock
	term    *vt.Terminal
	journal *journal.Journal
	program Program
	answers func(typed string) string // what the program shows for what it reads; nil: it reads nothing
	typed   string
	takes   int // bytes that the terminal takes if the program reads nothing
	tracked bool
	person  bool      // a person's draft is in the composer
	held    time.Time // a question that is out of sight is still believed until then
	does    api.Activity
	then    api.Activity // what it does a moment after an interrupt; the zero value: the same
	shown   uint64
	last    time.Time
	changed chan struct{}
	nudged  []api.Receipt

	interrupts int
	lost       int // of the first interrupts
}

func (f *fake) Interrupt(*api.Actor) error {
	f.interrupts++
	if f.then.State != "" && f.interrupts > f.lost {
		time.AfterFunc(10*time.Millisecond, func() {
			f.Lock()
			f.does = f.then
			f.Unlock()
			f.show("")
		})
	}
	return nil
}

var _ Session = (*fake)(nil)

func newFake(t *testing.T, answers func(typed string) string) *fake {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	table, err := sys.NewMemory(t.TempDir(), journal.HeaderSize*journal.TableSize)
	if err != nil {
		t.Fatal(err)
	}
	headers, err := journal.MapTable(table)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := sys.NewMemory(t.TempDir(), journal.Size)
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(fd, headers.At(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		j.Close()
		_ = unix.Munmap(headers.Mem)
		unix.Close(table)
	})
	f := &fake{lock: fifo.New(), term: term, journal: j, answers: answers, changed: make(chan struct{})}
	f.program.Dialogs = rule.Dialogs()
	f.show("> ")
	return f
}

// show is output of the program.
func (f *fake) show(p string) {
	f.Lock()
	defer f.Unlock()
	_, _ = f.term.Write([]byte(p))
	f.shown += uint64(len(p))
	f.last = time.Now()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) Write(ctx context.Context, p []byte, patience time.Duration) (int, error) {
	n := len(p)
	if f.answers == nil {
		n = min(n, f.takes)
		f.takes -= n
	}
	f.typed += string(p[:n])
	if f.tracked {
		f.journal.AheadDone.Add(uint64(n))
		f.journal.AheadNext.Store(f.journal.AheadDone.Load())
	}
	if n < len(p) {
		time.Sleep(patience)
		return n, ErrStuck
	}
	if f.answers != nil {
		time.AfterFunc(time.Millisecond, func() { f.show(f.answers(string(p))) })
	}
	return n, nil
}

func (f *fake) Program() Program                           { return f.program }
func (f *fake) Encode(names ...string) ([]byte, error)     { return keys.Encode(nil, names, keys.Modes{}) }
func (f *fake) Nudged(_ api.NudgeRequest, rec api.Receipt) { f.nudged = append(f.nudged, rec) }
func (f *fake) Acquire(ctx context.Context) error          { return f.lock.Lock(ctx) }
func (f *fake) Release()                                   { f.lock.Unlock() }
func (f *fake) CancelWith(context.CancelCauseFunc)         {}
func (f *fake) Track(on bool)                              { f.tracked = on }
func (f *fake) Ending() (ending, ended bool)               { return false, false }
func (f *fake) View() *vt.Terminal                         { return f.term }
func (f *fake) Output() (uint64, time.Time)                { return f.shown, f.last }
func (f *fake) Typing() (until time.Time, typing bool)     { return time.Now().Add(time.Minute), f.person }
func (f *fake) Mode() Mode                                 { return Mode{} }
func (f *fake) Unread() (n int, known bool)                { return 0, true }
func (f *fake) Change() <-chan struct{}                    { return f.changed }
func (f *fake) Journal() *journal.Journal                  { return f.journal }

func (f *fake) Activity() (a api.Activity, known bool, again time.Duration) {
	if left := time.Until(f.held); left > 0 {
		return api.Activity{State: api.ActivityBlocked, Kind: "trust", Evidence: "Do you trust it?"}, true, left
	}
	return f.does, true, 0
}
