package controller

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// lossy is a backend that is lost in the middle of a stop.
type lossy struct {
	*runtimefake.Fake
	ends  bool // the session ends all the same
	stops atomic.Int32
}

func (l *lossy) Stop(_ context.Context, name string) error {
	l.stops.Add(1)
	l.Fake.Fail("ListRunning", "", runtime.ErrBackendUnreachable)
	if l.ends {
		l.Fake.Vanish(name)
	}
	return runtime.ErrBackendUnreachable
}

const idleAgent = "[daemon]\nmax_restarts = 1\npatrol_interval = \"10s\"\n" + oneAgent + "idle_timeout = \"1m\"\n"

// A stop whose reply is lost is a stop, not a crash, for this controller and the next.
func TestStopWithoutAReplyIsNoCrash(t *testing.T) {
	for name, restart := range map[string]bool{"the same controller": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, idleAgent, func(r *rig) {
				l := &lossy{Fake: r.fake, ends: true}
				r.start(func(o *Options) { o.Provider = l })
				time.Sleep(90 * time.Second)
				if l.stops.Load() != 1 {
					t.Fatalf("%d stops", l.stops.Load())
				}
				r.wantState("a", api.StateUnknown)
				if restart {
					r.end()
					r.start()
				}
				time.Sleep(10 * time.Minute)
				r.fake.Fail("ListRunning", "", nil)
				time.Sleep(time.Minute)
				if a := r.wantState("a", api.StateStopped); a.Restarts != 0 || a.LastExit == nil || r.starts("gc-city-a") != 1 {
					t.Errorf("%+v, %d starts", a, r.starts("gc-city-a"))
				}
				r.end()
			})
		})
	}
}

// While the backend is away, a stop is not tried again; when it is back, it is.
func TestStopIsNotRepeatedBlindly(t *testing.T) {
	bubble(t, idleAgent, func(r *rig) {
		l := &lossy{Fake: r.fake}
		r.start(func(o *Options) { o.Provider = l })
		time.Sleep(5 * time.Minute)
		if l.stops.Load() != 1 {
			t.Errorf("%d stops in five minutes", l.stops.Load())
		}
		r.fake.Fail("ListRunning", "", nil)
		time.Sleep(time.Minute)
		if l.stops.Load() != 2 {
			t.Errorf("%d stops", l.stops.Load())
		}
		r.end()
	})
}

// A stop that did not reach the session excuses no crash for long.
func TestStopThatFailedExcusesNoLaterCrash(t *testing.T) {
	bubble(t, idleAgent, func(r *rig) {
		r.fake.Fail("Stop", "", runtime.ErrBackendUnreachable)
		r.start()
		time.Sleep(64500 * time.Millisecond)
		if n := len(r.fake.CallsOf("Stop", "")); n < 1 || n > 6 {
			t.Fatalf("%d stops in five seconds", n)
		}
		r.fake.SetActivity("gc-city-a", time.Now()) // it works again
		r.fake.Fail("Stop", "", nil)
		for range 3 {
			time.Sleep(30 * time.Second)
			r.fake.SetActivity("gc-city-a", time.Now())
		}
		r.fake.Exit("gc-city-a", 1)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 1 {
			t.Errorf("%+v; log:\n%s", a, r.log)
		}
		r.end()
	})
}

// Starts that were put off while the backend was away are not when it is back.
func TestStartsOnceTheBackendIsBack(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1h\"\n"+oneAgent, func(r *rig) {
		r.fake.Fail("Start", "", runtime.ErrBackendUnreachable)
		r.start()
		time.Sleep(10 * time.Minute) // the back-off is a minute
		r.fake.Fail("Start", "", nil)
		if a := r.status("a"); a.RetryAt == nil || time.Until(*a.RetryAt) < 2*time.Second {
			t.Fatalf("%+v", a)
		}
		r.fake.DropSubscribers() // as when the way to it was lost
		time.Sleep(time.Second)
		r.wantState("a", api.StateRunning)
		r.end()
	})
}

// When the way to the backend is lost, that shows before the next patrol.
func TestLossIsShownAtOnce(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1h\"\n"+oneAgent, func(r *rig) {
		r.start()
		r.wantState("a", api.StateRunning)
		for _, method := range []string{"ListRunning", "IsRunning", "Events"} {
			r.fake.Fail(method, "", runtime.ErrBackendUnreachable)
		}
		r.fake.DropSubscribers()
		time.Sleep(100 * time.Millisecond)
		if a := r.wantState("a", api.StateUnknown); a.Error == "" {
			t.Errorf("%+v", a)
		}
		r.end()
	})
}

// slowList is a backend that takes long to list, as over a way that is lost meanwhile.
type slowList struct {
	*runtimefake.Fake
	during atomic.Pointer[func(call int32)]
	calls  atomic.Int32
}

func (l *slowList) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	n := l.calls.Add(1)
	if during := l.during.Load(); during != nil {
		(*during)(n)
	}
	return l.Fake.ListRunning(ctx, prefix)
}

// An agent that takes a message after it was found idle is not stopped with it.
func TestIdleStopGivesUpIfTheAgentIsActiveAgain(t *testing.T) {
	bubble(t, strings.Replace(idleAgent, "10s", "1h", 1), func(r *rig) {
		l := &slowList{Fake: r.fake}
		r.start(func(o *Options) { o.Provider = l })
		time.Sleep(59 * time.Second)
		l.calls.Store(0)
		during := func(call int32) {
			if call == 2 { // the stop's; the first one found it idle
				time.Sleep(2 * time.Second)
				r.fake.SetActivity("gc-city-a", time.Now())
			}
		}
		l.during.Store(&during)
		time.Sleep(30 * time.Second)
		if n := l.calls.Load(); n < 3 {
			t.Fatalf("%d lists", n)
		}
		if a := r.wantState("a", api.StateRunning); a.Error != "" {
			t.Errorf("%+v", a)
		}
		time.Sleep(time.Minute)
		r.wantState("a", api.StateStopped)
		r.end()
	})
}
