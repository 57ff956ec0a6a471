package server

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/mux/internal/stuck"
	"gascity.dev/gc/mux/internal/told"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// While output comes, the screen may be half painted. It is examined after a pause of
// detectQuiet, and at least every detectEvery.
const (
	detectQuiet = 16 * time.Millisecond
	detectEvery = 250 * time.Millisecond
)

// activity is when a session was last active, and what its program is doing.
// session.mu guards it.
type activity struct {
	s        *session
	lastIn   int64 // Unix nanoseconds, by the server's clock
	lastOut  int64
	bells    uint64
	prompt   bool      // a shell prompt is open
	detector *detector // nil before the first event or question
}

// detector determines what the program is doing.
type detector struct {
	status.Detector
	last   api.Activity
	again  time.Time // last may be outdated from then on; zero: only by output
	output uint64    // rendered offset and revision of the screen that last describes
	screen uint64
	at     time.Time // zero: never, or outdated
	asked  time.Time // first question after the screen changed; zero: none since

	watch   *stuck.Watch // nil: the program does not claim to work
	looking bool         // a look for watch is under way
}

// ensure returns the detector, which is made when first needed. mu is held.
func (act *activity) ensure() *detector {
	if act.detector == nil {
		act.detector = &detector{}
		act.detector.Group = act.s.tty.foreground
		act.detector.Nonce = act.s.rec.Control.nonce()
	}
	return act.detector
}

// noteOutput notes that output came. mu is held.
func (act *activity) noteOutput() {
	act.lastOut = act.s.srv.clock.Now().UnixNano()
	act.s.storage.journal.LastOut.Store(act.lastOut)
}

// notSilent restarts the time of silence, when output was held back. mu is held.
func (act *activity) notSilent() { act.lastOut = act.s.srv.clock.Now().UnixNano() }

// noteInput notes that something was typed. mu is held.
func (act *activity) noteInput() {
	act.lastIn = act.s.srv.clock.Now().UnixNano()
	if !act.s.tty.closed() { // else the journal may be closed, too
		act.s.storage.journal.LastIn.Store(act.lastIn)
	}
}

// notePrompt notes whether a shell prompt is open. mu is held.
func (act *activity) notePrompt(open bool) {
	act.prompt = open
	flags := &act.s.storage.journal.Flags
	if open {
		flags.Or(journal.FlagPrompt)
	} else {
		flags.And(^uint64(journal.FlagPrompt))
	}
}

// note handles events about what the program does. mu is held.
func (act *activity) note(events []vt.Event) {
	changed := false
	now := unixTime(max(act.lastOut, act.s.life.born)) // the same time for all events of one read
	for _, e := range events {
		switch e.Kind {
		case vt.EventStatus, vt.EventPrompt, vt.EventProgress:
			changed = act.ensure().Event(e, now) || changed
		case vt.EventReset, vt.EventTitle:
			changed = act.detector != nil && act.detector.Event(e, now) || changed
		}
	}
	if changed {
		act.save()
	}
}

// handleReport takes what a process of a session says about its agent.
func (a *apiServer) handleReport(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.ReportRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	report, err := told.Parse(in)
	if err != nil {
		return nil, err
	}
	s, sender, err := a.srv.sessions.sender(endpoint.Peer(r))
	if err == nil && s == nil && a.srv.sessions.awaitID(sender.Env[proctree.SessionVar]) {
		s, sender, err = a.srv.sessions.sender(endpoint.Peer(r))
	}
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("%w: process %d", api.ErrNotInside, sender.Chain[0].PID)
	}
	if err := sender.CheckEnviron(s.rec.ID); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name(), err)
	}
	if s.rec.Control != nil {
		return nil, fmt.Errorf("%w: %s: its agent reports over ACP", api.ErrRequest, s.name())
	}
	report.Order = sender.Chain[0].Start
	if report.Hook != "" {
		if report.Agent, report.Above, err = sender.Agent(s.life.pid); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name(), err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.ended() {
		return nil, fmt.Errorf("%s: %w", s.name(), api.ErrExited)
	}
	report.At = s.srv.clock.Now().Add(-told.Age(in))
	why := s.activity.ensure().Report(report, told.Runs)
	s.activity.save()
	s.broadcast()
	return api.ReportResult{Session: s.name(), SID: s.rec.ID, Ignored: why}, nil
}

// sender examines a process that reports, and returns the session that it runs in; nil if it
// is in none, as around does.
func (t *sessionTable) sender(pid int) (*session, told.Sender, error) {
	leaders := t.leaders()
	sender, err := told.Examine(pid, func(pid int) bool { return leaders[pid] != nil })
	if err != nil {
		return nil, sender, err
	}
	s := leaders[sender.Chain[len(sender.Chain)-1].PID]
	if s == nil {
		s = t.withID(sender.Env[proctree.SessionVar])
	}
	return s, sender, nil
}

// see notes that a person has seen the session: its results are no longer news.
// mu is held.
func (act *activity) see() {
	if act.ensure().See(act.s.srv.clock.Now()) {
		act.save()
		act.s.broadcast()
	}
}

// save writes the detector's state to the journal. mu is held.
func (act *activity) save() {
	act.detector.at = time.Time{}
	b, err := act.detector.Save()
	if err == nil {
		err = act.s.storage.journal.KeepStatus(b)
	}
	if err != nil {
		slog.Warn("cannot save the activity", "session", act.s.rec.ID, "error", err)
	}
}

// restore takes over the state of a dead server. Events of the replay follow; some may
// come twice, and the last one counts. mu is held.
func (act *activity) restore() {
	j := act.s.storage.journal
	act.lastIn, act.lastOut, act.prompt = j.LastIn.Load(), j.LastOut.Load(), j.Flags.Load()&journal.FlagPrompt != 0
	b, err := j.KeptStatus()
	if err == nil && len(b) > 0 {
		err = act.ensure().Load(b)
	}
	if err != nil {
		slog.Warn("cannot restore the activity", "session", act.s.rec.ID, "error", err)
	}
}

// detect returns what the program does. ok is false while the screen is being painted. If
// the answer may change without output, ask again after d; 0: only after a change. mu is
// held.
func (act *activity) detect() (a api.Activity, ok bool, d time.Duration) {
	s := act.s
	now := s.srv.clock.Now()
	det := act.ensure()
	fresh := !det.at.IsZero() && det.output == s.screen.rendered && det.screen == s.screen.term.Revision() && !s.life.ended() && (det.again.IsZero() || now.Before(det.again))
	if !fresh {
		if det.asked.IsZero() {
			det.asked = now
		}
		quiet, every := unixTime(act.lastOut).Add(detectQuiet), det.asked.Add(detectEvery)
		if s.rec.Control == nil && !s.life.ended() && now.Before(quiet) && now.Before(every) {
			return api.Activity{}, false, min(quiet.Sub(now), every.Sub(now))
		}
		det.last, det.again = det.Detect(s.screen.view(), act.facts(), now)
		if det.Unsaved() {
			act.save()
		}
		det.output, det.screen, det.at, det.asked = s.screen.rendered, s.screen.term.Revision(), now, time.Time{}
	}
	again := det.again
	a, look := act.still(det.last, now)
	if !s.life.ended() {
		a.Background = append(s.srv.sessions.owned.Of(s.name()), a.Background...)
	}
	if again.IsZero() || !look.IsZero() && look.Before(again) {
		again = look
	}
	if !again.IsZero() {
		d = max(again.Sub(now), time.Millisecond)
	}
	return a, true, d
}

// still replaces the claim of a program that works by stuck if nothing moves. look is when to
// ask again; zero: nobody need. mu is held.
func (act *activity) still(a api.Activity, now time.Time) (_ api.Activity, look time.Time) {
	det, s := act.detector, act.s
	if s.rec.Stuck <= 0 || a.State != api.ActivityWorking || s.life.ended() {
		det.watch = nil
		return a, time.Time{}
	}
	if det.watch == nil {
		det.watch = &stuck.Watch{After: time.Duration(s.rec.Stuck)}
	}
	w := det.watch
	look = w.Works(a.Since, now)
	switch {
	case det.looking:
		look = time.Time{} // its end is a change
	case !now.Before(look):
		det.looking, look = true, time.Time{}
		s.srv.lifetime.work.Go(func() { act.look(w) })
	}
	is, since, evidence := w.Stuck()
	found := api.Finding{Source: status.FromProcess, Evidence: evidence}
	if is {
		found.State, found.Since = api.ActivityStuck, since
		a.State, a.Source, a.Since, a.Evidence = found.State, found.Source, since, a.Evidence+"; "+evidence
	}
	a.Sources = append(slices.Clip(a.Sources), found)
	return a, look
}

// look reads the session's processes, which takes a while, and tells those who wait.
func (act *activity) look(w *stuck.Watch) {
	s := act.s
	sample, err := stuck.Read(s.life.tree().Members)
	s.mu.Lock()
	defer s.mu.Unlock()
	act.detector.looking = false
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\n%s\n%d", s.screen.view().ScreenText(), s.screen.term.Title(), s.screen.term.HistoryTotal())
	sample.Screen = h.Sum64()
	w.Take(sample, err, s.srv.clock.Now())
	s.broadcast()
}

// facts returns the detector's input besides the screen. mu is held.
func (act *activity) facts() status.Facts {
	s := act.s
	f := status.Facts{
		Ready: s.rec.Ready, Reports: s.rec.Reports, Dialogs: s.srv.settings.dialogs, Rules: s.rec.Rules,
		Limits: s.rec.MaxedOut, Zone: s.rec.zone(),
		Started: unixTime(s.life.born), LastOutput: unixTime(act.lastOut), LastInput: unixTime(act.lastIn),
	}
	f.AgentGone = told.Ended
	screen := func() nudge.Screen { return nudge.Screen{Term: s.screen.view(), Program: nudged{s}.Program()} }
	switch {
	case s.rec.First != "":
		f.Opening = &status.Opening{Name: "the message of its command line", Shown: func() bool { return screen().HasFirst(s.rec.First) }}
	case len(s.rec.Composer.Resumed) > 0:
		f.Opening = &status.Opening{Name: "the resumed conversation", Shown: func() bool { return screen().HasResumed() }}
	}
	if !s.life.ended() && act.detector.Marked() {
		f.Leader, f.Foreground = act.programs()
	}
	if s.life.ended() {
		f.Ended, f.EndedAt = s.life.exit.Status(), s.life.exit.Time
	}
	return f
}

// programs returns the names of the leader and of the leader of the foreground process
// group, "" if unknown. mu is held.
func (act *activity) programs() (leader, foreground string) {
	name := func(pid int) string {
		p, err := proctree.Get(pid)
		if err != nil || pid <= 1 {
			return ""
		}
		return p.Comm
	}
	return name(act.s.life.pid), name(act.s.tty.foreground())
}

// current waits at most detectEvery until the screen is whole, and returns what the program
// does.
func (act *activity) current(ctx context.Context) (api.Activity, error) {
	for {
		act.s.mu.Lock()
		a, ok, d := act.detect()
		act.s.mu.Unlock()
		if ok {
			return a, nil
		}
		if err := clock.Sleep(ctx, d); err != nil {
			return api.Activity{}, err
		}
	}
}

// await checks what the program does after every change until ok or its end.
func (act *activity) await(ctx context.Context, ok func(api.Activity) bool) error {
	s := act.s
	for {
		s.mu.Lock()
		a, whole, d := act.detect()
		change, ended := s.change(), s.life.ended()
		s.mu.Unlock()
		if ended || whole && ok(a) {
			return nil
		}
		if d <= 0 {
			d = -1
		}
		if !whole {
			change = nil // nothing is known before d has passed
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

// paintsWithin is how long a program may take to show a question after it announced one.
const paintsWithin = time.Second

// asked returns what the program does. If it has just announced a question, asked waits
// for the options: agents announce a question before they paint it.
func (act *activity) asked(ctx context.Context) (api.Activity, error) {
	a, err := act.current(ctx)
	if err != nil || a.Pending == nil || len(a.Pending.Options) > 0 || a.Source == status.FromDialog {
		return a, err
	}
	left := time.Until(a.Since.Add(paintsWithin))
	if left <= 0 {
		return a, nil
	}
	err = act.awaitQuestion(ctx, left, func(q *api.Pending) bool { return q == nil || len(q.Options) > 0 })
	if err != nil && ctx.Err() != nil {
		return a, err
	}
	return act.current(ctx)
}

// silent returns how long there was no output. mu is held.
func (act *activity) silent() time.Duration {
	return max(0, act.s.srv.clock.Since(unixTime(max(act.lastOut, act.s.life.born))))
}

// question returns the session's open question.
func (act *activity) question(ctx context.Context) (*api.Pending, error) {
	a, err := act.current(ctx)
	if err != nil {
		return nil, err
	}
	if a.State == api.ActivityExited {
		return nil, api.ErrExited
	}
	if a.Pending == nil {
		return nil, fmt.Errorf("%w: no question is open", api.ErrQuestion)
	}
	return a.Pending, nil
}

// awaitQuestion waits until ok accepts the open question, at most for limit.
func (act *activity) awaitQuestion(ctx context.Context, limit time.Duration, ok func(*api.Pending) bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return act.await(ctx, func(a api.Activity) bool { return ok(a.Pending) })
}

// after returns a channel that fires after d; never if d is negative.
func after(d time.Duration) (fires <-chan time.Time, stop func()) {
	if d < 0 {
		return nil, func() {}
	}
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
