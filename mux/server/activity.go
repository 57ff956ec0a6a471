package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/vt"
)

// While output comes the screen may be half painted: it is looked at after a
// pause of lookQuiet, and at least every lookEvery.
const (
	lookQuiet = 16 * time.Millisecond
	lookEvery = 250 * time.Millisecond
)

// activity is what a session's detector needs. It is made with the first event
// that tells something, or the first who asks.
type activity struct {
	status.Detector
	last   api.Activity
	again  time.Time // last may be another one from then on; zero: only by output
	output uint64    // s.out and the screen's revision when it was made
	screen uint64
	at     time.Time // zero: never, or outdated
	news   time.Time // when it was first asked for after the screen changed; zero: not since then
}

// detector is the session's. mu is held.
func (s *session) detector() *activity {
	if s.doing == nil {
		s.doing = &activity{}
		s.doing.Group = s.foreground
	}
	return s.doing
}

// noteActivity takes over events that tell what the program is doing. mu is
// held.
func (s *session) noteActivity(events []vt.Event) {
	changed := false
	now := unixTime(max(s.lastOut, s.born)) // one time for what came together
	for _, e := range events {
		switch e.Kind {
		case vt.EventStatus, vt.EventPrompt, vt.EventProgress:
			changed = s.detector().Event(e, now) || changed
		case vt.EventReset:
			changed = s.doing != nil && s.doing.Event(e, now) || changed
		}
	}
	if changed {
		s.keepActivity()
	}
}

// see notes that a person looked at the session: what its program has done is
// no news any more. mu is held.
func (s *session) see() {
	if s.detector().See(s.srv.clock.Now()) {
		s.keepActivity()
		s.broadcast()
	}
}

func handleSeen(s *session, _ http.ResponseWriter, _ *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exit != nil {
		return nil, api.ErrExited
	}
	s.see()
	return nil, nil
}

// keepActivity writes down what the detector knows now. mu is held.
func (s *session) keepActivity() {
	s.doing.at = time.Time{}
	b, err := s.doing.Save()
	if err == nil {
		err = s.j.KeepStatus(b)
	}
	if err != nil {
		slog.Warn("cannot save the activity", "session", s.rec.ID, "error", err)
	}
}

// recoverActivity takes over what a dead server knew. Events of the replay
// come after it: of each thing the last word counts, so that some of them may
// come twice. mu is held.
func (s *session) recoverActivity() {
	b, err := s.j.KeptStatus()
	if err == nil && len(b) > 0 {
		err = s.detector().Load(b)
	}
	if err != nil {
		slog.Warn("cannot restore the activity", "session", s.rec.ID, "error", err)
	}
}

// detect says what the program is doing. ok is false while the screen is being
// painted: then, or when a result may change by itself, it is worth asking
// again after d (0: only after a change). mu is held.
func (s *session) detect() (a api.Activity, ok bool, d time.Duration) {
	now := s.srv.clock.Now()
	doing := s.detector()
	fresh := !doing.at.IsZero() && doing.output == s.out && doing.screen == s.term.Revision() && s.exit == nil && (doing.again.IsZero() || now.Before(doing.again))
	if !fresh {
		if doing.news.IsZero() {
			doing.news = now
		}
		quiet, every := unixTime(s.lastOut).Add(lookQuiet), doing.news.Add(lookEvery)
		if s.exit == nil && now.Before(quiet) && now.Before(every) {
			return api.Activity{}, false, min(quiet.Sub(now), every.Sub(now))
		}
		doing.last, doing.again = doing.Detect(s.screen(), s.facts(), now)
		doing.output, doing.screen, doing.at, doing.news = s.out, s.term.Revision(), now, time.Time{}
	}
	if !doing.again.IsZero() {
		d = max(doing.again.Sub(now), time.Millisecond)
	}
	return doing.last, true, d
}

// facts are what the detector wants to know. mu is held.
func (s *session) facts() status.Facts {
	f := status.Facts{
		Ready: s.rec.Ready, Reports: s.rec.Reports, Dialogs: s.srv.dialogs, Rules: s.rec.Rules,
		Started: unixTime(s.born), LastOutput: unixTime(s.lastOut), LastInput: unixTime(s.lastIn),
	}
	if s.exit == nil && s.doing.Marked() {
		f.Leader, f.Foreground = s.programs()
	}
	if s.exit != nil {
		f.Ended, f.EndedAt = exitLine(s.exit), s.exit.Time
	}
	return f
}

// foreground is the process group that has the terminal, 0 when it cannot be
// told. mu is held.
func (s *session) foreground() int {
	if s.fd < 0 || s.rec.Pipes {
		return 0
	}
	group, err := unix.IoctlGetInt(s.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// programs are the session's leader and what leads the process group in the
// foreground, "" where that cannot be told. mu is held.
func (s *session) programs() (leader, foreground string) {
	name := func(pid int) string {
		p, err := proctree.Get(pid)
		if err != nil || pid <= 1 {
			return ""
		}
		return p.Comm
	}
	return name(s.pid), name(s.foreground())
}

// exitLine is how a program ended, for a person.
func exitLine(e *api.Exit) string {
	if e.Signal != "" {
		return e.Signal
	}
	if e.Code < 0 {
		return "exit status unknown"
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// currentActivity waits until the screen is whole, at most lookEvery, and says
// what the program is doing.
func (s *session) currentActivity(ctx context.Context) (api.Activity, error) {
	for {
		s.mu.Lock()
		a, ok, d := s.detect()
		s.mu.Unlock()
		if ok {
			return a, nil
		}
		if err := sys.Sleep(ctx, d); err != nil {
			return api.Activity{}, err
		}
	}
}

// awaitActivity looks at what the program is doing at every change until ok, or
// its end.
func (s *session) awaitActivity(ctx context.Context, ok func(api.Activity) bool) error {
	for {
		s.mu.Lock()
		a, whole, d := s.detect()
		change, ended := s.change(), s.exit != nil
		s.mu.Unlock()
		if ended || whole && ok(a) {
			return nil
		}
		if d <= 0 {
			d = -1
		}
		if !whole {
			change = nil // nothing can be said before d passed
		}
		again, stop := after(d)
		select {
		case <-change:
		case <-again:
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		}
		stop()
	}
}

// dialog is what stands on the screen for somebody to answer, or a line that
// may belong to it. mu is held.
func (s *session) dialog() (rule.Found, bool) {
	return status.DialogViewOf(s.screen(), s.rec.Ready).Find(s.srv.dialogs)
}

func handleActivity(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	if r.URL.Query().Get("question") != "" {
		return s.asked(r.Context())
	}
	return s.currentActivity(r.Context())
}

// paintsWithin is how long a program may take to show the question that it has
// said it asks.
const paintsWithin = time.Second

// asked is what the program is doing. If it has just said that it asks, its
// question's options are waited for: agents say so before they paint it.
func (s *session) asked(ctx context.Context) (api.Activity, error) {
	a, err := s.currentActivity(ctx)
	if err != nil || a.Pending == nil || len(a.Pending.Options) > 0 || a.Source == status.FromDialog {
		return a, err
	}
	left := time.Until(a.Since.Add(paintsWithin))
	if left <= 0 {
		return a, nil
	}
	err = s.awaitQuestion(ctx, left, func(q *api.Pending) bool { return q == nil || len(q.Options) > 0 })
	if err != nil && ctx.Err() != nil {
		return a, err
	}
	return s.currentActivity(ctx)
}
