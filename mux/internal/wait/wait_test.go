package wait

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// fake is a session that a test plays.
type fake struct {
	sync.Mutex
	term     *vt.Terminal
	changed  chan struct{}
	end      chan struct{}
	exit     *api.Exit
	last     time.Time // of the output
	activity api.Activity
	bells    uint64
	prompt   bool
	looks    int
}

func newFake(t *testing.T) *fake {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: 40, Rows: 5})
	if err != nil {
		t.Fatal(err)
	}
	return &fake{term: term, changed: make(chan struct{}), end: make(chan struct{}), last: time.Now()}
}

// becomes changes the session.
func (f *fake) becomes(change func()) {
	f.Lock()
	defer f.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) shows(text string) {
	f.becomes(func() {
		_, _ = f.term.Write([]byte(text))
		f.last = time.Now()
	})
}

func (f *fake) Change() <-chan struct{} { return f.changed }
func (f *fake) End() <-chan struct{}    { return f.end }
func (f *fake) Exit() *api.Exit         { return f.exit }
func (f *fake) Silent() time.Duration   { return time.Since(f.last) }
func (f *fake) Bells() uint64           { return f.bells }
func (f *fake) Prompt() bool            { return f.prompt }
func (f *fake) Revision() uint64        { return f.term.Revision() }
func (f *fake) Term() *vt.Terminal      { return f.term }

func (f *fake) View() *vt.Terminal {
	f.looks++
	return f.term
}

func (f *fake) Activity() (a api.Activity, known bool, again time.Duration) {
	return f.activity, true, 0
}

// TestConditions: each condition is met by what it names, and by nothing before.
func TestConditions(t *testing.T) {
	var was uint64
	for name, c := range map[string]struct {
		condition api.Condition
		other     func(f *fake) // does not meet it
		meets     func(f *fake)
	}{
		"text": {api.Condition{Text: "do+ne"}, func(f *fake) { f.shows("not yet") }, func(f *fake) { f.shows("dooone") }},
		"title": {
			api.Condition{Title: "^build$"}, func(f *fake) { f.shows("\x1b]2;builder\x07") }, func(f *fake) { f.shows("\x1b]2;build\x07") },
		},
		"bell": {
			api.Condition{Bell: true}, func(f *fake) { f.shows("x") }, func(f *fake) { f.becomes(func() { f.bells++ }) },
		},
		"prompt": {
			api.Condition{Prompt: true}, func(f *fake) { f.shows("x") }, func(f *fake) { f.becomes(func() { f.prompt = true }) },
		},
		"changed": {
			api.Condition{Changed: &was}, func(f *fake) { f.becomes(func() { f.bells++ }) }, func(f *fake) { f.shows("x") },
		},
		"blocked": {
			api.Condition{Blocked: true},
			func(f *fake) { f.becomes(func() { f.activity.State = api.ActivityWorking }) },
			func(f *fake) { f.becomes(func() { f.activity.State = api.ActivityBlocked }) },
		},
		"status": {
			api.Condition{Status: true}, func(f *fake) { f.shows("x") },
			func(f *fake) { f.becomes(func() { f.activity.State = api.ActivityWorking }) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				was = f.Revision()
				met := make(chan api.WaitResult, 1)
				go func() {
					r, err := For(t.Context(), f, api.WaitRequest{Conditions: []api.Condition{{Exit: true}, c.condition}})
					if err != nil {
						t.Error(err)
					}
					met <- r
				}()
				synctest.Wait()
				c.other(f)
				synctest.Wait()
				if len(met) > 0 {
					t.Fatalf("met too early: %+v", <-met)
				}
				c.meets(f)
				if r := <-met; r.Met != 1 || r.TimedOut {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

// TestQuiet: output restarts the time of quiet.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		began := time.Now()
		for i := range 3 {
			time.AfterFunc(time.Duration(i)*time.Second, func() { f.shows("x") })
		}
		r, err := For(t.Context(), f, api.WaitRequest{Conditions: []api.Condition{{Quiet: 1500 * time.Millisecond}}})
		if err != nil || r.Met != 0 || time.Since(began) != 3500*time.Millisecond {
			t.Errorf("%+v, %v after %v", r, err, time.Since(began))
		}
	})
}

// TestWaitEnds: a wait ends with its time or with the session, and one for the end alone
// does not look at output.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		r, err := For(t.Context(), f, api.WaitRequest{Conditions: []api.Condition{{Bell: true}}, Timeout: time.Minute})
		if err != nil || !r.TimedOut || r.Met != -1 {
			t.Errorf("%+v, %v", r, err)
		}
		time.AfterFunc(time.Hour, func() {
			f.shows("x")
			f.becomes(func() {
				f.exit = &api.Exit{Code: 3}
				close(f.end)
			})
		})
		r, err = For(t.Context(), f, api.WaitRequest{Conditions: []api.Condition{{Exit: true}}})
		if err != nil || r.Met != 0 || r.Exit == nil || r.Exit.Code != 3 || f.looks != 0 {
			t.Errorf("%+v, %v after %d looks", r, err, f.looks)
		}
		if r, err = For(t.Context(), f, api.WaitRequest{Conditions: []api.Condition{{Text: "never"}}}); err != nil || r.Met != -1 || r.Exit == nil {
			t.Errorf("after the end: %+v, %v", r, err)
		}
	})
}

// TestBadConditions: a wait has conditions, each with one field.
func TestBadConditions(t *testing.T) {
	for name, cs := range map[string][]api.Condition{
		"none":        {},
		"two fields":  {{Bell: true, Exit: true}},
		"no field":    {{}},
		"an unclosed": {{Text: "("}},
		"too many":    make([]api.Condition, maxConditions+1),
	} {
		if _, err := For(t.Context(), newFake(t), api.WaitRequest{Conditions: cs}); !errors.Is(err, api.ErrRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
