package controller

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// scanner is a fake that also sees the process table.
type scanner struct {
	*runtimefake.Fake
	mu    sync.Mutex
	live  []runtime.LiveRuntime
	ended []int
}

func (s *scanner) FindRuntimesBySessionID(_ context.Context, id string) ([]runtime.LiveRuntime, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []runtime.LiveRuntime
	for _, r := range s.live {
		if id == "" || r.SessionID == id {
			out = append(out, r)
		}
	}
	return out, nil
}

func (s *scanner) TerminateRuntime(_ context.Context, r runtime.LiveRuntime) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, r.PID)
	return nil
}

func TestStraysOfThisCityAreEndedBeforeTheFirstStart(t *testing.T) {
	bubble(t, oneAgent+"[[agents]]\nname = \"b\"\nstart_command = \"agent\"\n", func(r *rig) {
		r.start()
		r.end()
		dir := r.options().City.Dir
		id := func(session string) string { return r.fake.MetaOf(session)["GC_SESSION_ID"] }
		sc := &scanner{Fake: r.fake, live: []runtime.LiveRuntime{
			{SessionID: id("gc-city-a"), City: dir, PID: 1},
			{SessionID: "of a background command", City: dir, PID: 2},
			{SessionID: id("gc-city-a"), City: "/another/city", PID: 3},
			{SessionID: id("gc-city-a"), PID: 4},
			{SessionID: id("gc-city-b"), City: dir, PID: 5, Tracked: true},
			{SessionID: id("gc-city-b"), City: dir, PID: 6}, // a child that left the tree
		}}
		if err := r.fake.Stop(t.Context(), "gc-city-a"); err != nil { // lost by its backend
			t.Fatal(err)
		}
		r.start(func(o *Options) { o.Provider = sc })
		r.wantState("a", api.StateRunning)
		if diff := cmp.Diff([]int{1}, sc.ended); diff != "" {
			t.Errorf("ended:\n%s", diff)
		}
		r.end()
	})
}

func TestCutShortStartIsKnownByItsEnvironment(t *testing.T) {
	for _, ours := range []bool{true, false} {
		bubble(t, oneAgent, func(r *rig) {
			sc := &scanner{Fake: r.fake}
			r.fake.Hang("SetMeta", "", true)
			r.start(func(o *Options) { o.Provider = sc })
			r.end()
			cfg, _ := r.fake.ConfigOf("gc-city-a")
			if ours {
				sc.live = []runtime.LiveRuntime{{SessionID: "the backend's", Session: "gc-city-a", Epoch: 1, City: cfg.Env["GC_CITY_PATH"], PID: 1, Tracked: true}}
			}
			r.fake.Hang("SetMeta", "", false)
			r.start(func(o *Options) { o.Provider = sc })
			time.Sleep(time.Second)
			want := api.StateRunning
			if !ours {
				want = api.StateUnknown
			}
			r.wantState("a", want)
			if n := r.starts("gc-city-a"); n != 1 || (r.fake.MetaOf("gc-city-a")["GC_CITY_PATH"] != "") != ours {
				t.Errorf("ours %v: %d starts, metadata %v", ours, n, r.fake.MetaOf("gc-city-a"))
			}
			r.end()
		})
	}
}

func TestUnmarkedEnvironment(t *testing.T) {
	got := unmarked([]string{"PATH=/bin", "GC_SESSION=s", "GC_SESSION_NAME=s", "GC_SESSION_ID=x", "GC_CITY_PATH=/c"})
	if !slices.Equal(got, []string{"PATH=/bin"}) {
		t.Errorf("inside a session: %v", got)
	}
	if got := unmarked([]string{"GC_SESSION=tmux"}); !slices.Equal(got, []string{"GC_SESSION=tmux"}) {
		t.Errorf("a selection: %v", got)
	}
}

// The controller died between its record and the start: nothing ran, so it is
// started now, a one_shot only once no late start can follow.
func TestStartThatWasOnlyRecorded(t *testing.T) {
	for _, toml := range []string{oneAgent, oneJob} {
		bubble(t, toml, func(r *rig) {
			r.fake.Hang("Start", "", true)
			r.start()
			r.end()
			r.fake.Hang("Start", "", false)
			before := len(r.fake.CallsOf("Start", ""))
			r.start()
			late := len(r.fake.CallsOf("Start", "")) - before
			time.Sleep(lateStart)
			synctest.Wait()
			if n := len(r.fake.CallsOf("Start", "")) - before; n != 1 || toml == oneJob && late != 0 || toml == oneAgent && late != 1 {
				t.Errorf("%d starts, %d of them at once; log:\n%s", n, late, r.log)
			}
			for name, state := range r.states() {
				if a := r.status(name); state != api.StateRunning || a.Restarts != 0 {
					t.Errorf("%s: %+v", name, a)
				}
			}
			r.end()
		})
	}
}
