package runtimefake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gascity.dev/gc/runtime"
)

// Calls returns every call so far, in order.
func (f *Fake) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// CallsOf returns the calls of one method; session "" means any session.
func (f *Fake) CallsOf(method, session string) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.callsOfLocked(method, session)
}

func (f *Fake) callsOfLocked(method, session string) []Call {
	var out []Call
	for _, c := range f.calls {
		if c.Method == method && (session == "" || c.Session == session) {
			out = append(out, c)
		}
	}
	return out
}

// ForgetCalls empties the record.
func (f *Fake) ForgetCalls() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// AwaitCalls waits until method was called n times for the session ("" = any)
// and returns those calls.
func (f *Fake) AwaitCalls(ctx context.Context, method, session string, n int) ([]Call, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if got := f.callsOfLocked(method, session); len(got) >= n {
			return got, nil
		}
		changed := f.changed
		f.mu.Unlock()
		err := sleep(ctx, changed, 0)
		f.mu.Lock()
		if err != nil {
			return nil, fmt.Errorf("%d of %d calls of %s %s: %w", len(f.callsOfLocked(method, session)), n, method, session, err)
		}
	}
}

// Fail makes every call of method fail with err, until it is called with nil;
// session "" means any session.
func (f *Fake) Fail(method, session string, err error) { f.FailTimes(method, session, err, -1) }

// FailTimes makes the next n calls of method fail with err.
func (f *Fake) FailTimes(method, session string, err error, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := target{method, session}
	if err == nil || n == 0 {
		delete(f.fail, k)
		return
	}
	f.fail[k] = &failure{err: err, left: n}
}

// Hang makes calls of method wait until their context ends, or until it is called
// with on false; session "" means any session.
func (f *Fake) Hang(method, session string, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hang[target{method, session}] = on
	f.notifyLocked()
}

// Exit ends the session's program with the status, as if it had exited or crashed:
// the session no longer runs, keeps its screen, and an event is sent. Without a
// running session it does nothing.
func (f *Fake) Exit(name string, code int) {
	f.ExitWith(name, runtime.Exit{Code: code, Reason: runtime.ReasonExited, Time: time.Now()})
}

// ExitWith is Exit with all details.
func (f *Fake) ExitWith(name string, e runtime.Exit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.liveLocked(name)
	if s == nil {
		return
	}
	s.exit = &e
	f.emitLocked(runtime.Event{Kind: runtime.EventExited, Session: name, Time: e.Time, Exit: &e})
}

// Emit publishes an event of a session.
func (f *Fake) Emit(e runtime.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emitLocked(e)
}

// Vanish removes the session without an event, as a backend that lost it would.
func (f *Fake) Vanish(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, name)
	f.notifyLocked()
}

// DropSubscribers closes every event channel, as a lost backend would.
func (f *Fake) DropSubscribers() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		delete(f.subs, s)
		close(s.ch)
	}
}

// SetZombie makes the session exist without its agent process.
func (f *Fake) SetZombie(name string, zombie bool) {
	f.change(name, func(s *session) { s.zombie = zombie })
}

// SetPeek sets the screen of a session; without a session of the name, the first
// screen of its next Start.
func (f *Fake) SetPeek(name, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil {
		s.screen = text
	} else {
		f.screens[name] = text
	}
	f.notifyLocked()
}

// SetActivity sets the time of the session's last activity.
func (f *Fake) SetActivity(name string, t time.Time) {
	f.change(name, func(s *session) { s.activity = t })
}

// SetAttached sets whether a person is attached.
func (f *Fake) SetAttached(name string, attached bool) {
	f.change(name, func(s *session) {
		s.attached = 0
		if attached {
			s.attached = 1
		}
	})
}

// SetReceipt makes nudges of the session return r. Unless r is Submitted they leave
// the screen unchanged.
func (f *Fake) SetReceipt(name string, r runtime.Receipt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.receipts[name] = r
}

// SetCapabilities replaces what the fake claims to do.
func (f *Fake) SetCapabilities(c runtime.Capabilities) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.caps = c
}

// ConfigOf returns the config that the session was last started with.
func (f *Fake) ConfigOf(name string) (runtime.Config, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[name]
	if s == nil {
		return runtime.Config{}, false
	}
	return s.cfg, true
}

// MetaOf returns a copy of the session's metadata.
func (f *Fake) MetaOf(name string) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil {
		return maps.Clone(s.meta)
	}
	return nil
}

func (f *Fake) change(name string, fn func(*session)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil {
		fn(s)
		f.notifyLocked()
	}
}
