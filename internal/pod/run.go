package pod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// Options say what Run runs.
type Options struct {
	Paths   api.Paths // of the multiplexer
	Version string    // that it reports
	Session string
	Wait    time.Duration // for the session to be made
	Grace   time.Duration // between TERM and KILL when the session is stopped
	Report  string        // the file for the termination message; "" = none
	Screen  io.Writer     // gets the last screen
	Warn    func(format string, args ...any)

	// Alone ends Run if there is no session yet and Connected reports false for so long: whoever
	// was to make it is gone. 0: it waits for Wait.
	Alone     time.Duration
	Connected func() bool

	Every    time.Duration // between two looks at the screen; 0: 5 s
	Relaunch time.Duration // between the kill of a session and its next one; 0: 45 s
	Deliver  time.Duration // for cities to take the messages of the session, after its end; 0: 2 min
}

// Why Run ends without the end of its session.
var (
	ErrNoSession = errors.New("no session was made")
	ErrLost      = errors.New("the multiplexer was killed, and the session with it")
	ErrShared    = errors.New("the multiplexer of another container is in this container's state directory")
)

// Run hosts a multiplexer until its session has ended for good, and returns how. The end
// of ctx stops the session; without one, Run returns its cause.
//
// A session that was killed may be replaced by another one of its name: a relaunch does
// that. Run waits for it.
func Run(ctx context.Context, o Options) (*outcome.Exit, error) {
	o.Every, o.Relaunch, o.Deliver = cmp.Or(o.Every, 5*time.Second), cmp.Or(o.Relaunch, 45*time.Second), cmp.Or(o.Deliver, 2*time.Minute)
	r := &runner{Options: o, message: Message{Session: o.Session}}
	exit, err := r.run(ctx)
	if exit != nil {
		r.deliver(ctx)
	}
	r.finish(exit, err)
	return exit, err
}

// runner is one call of Run.
type runner struct {
	Options
	mux      *client.Client
	reaper   *reaper
	message  Message
	revision uint64 // of the screen in message
}

// Periods of Run.
const (
	retryFirst  = 20 * time.Millisecond
	retryMax    = time.Second
	stopDeliver = time.Second     // for messages when the pod is being stopped
	endLimit    = 3 * time.Second // for the last requests
	killLimit   = 10 * time.Second
	aloneStep   = time.Second // between two looks at who is connected
	reapLimit   = time.Second // for the status of a program that was seen to end
)

func (r *runner) run(ctx context.Context) (*outcome.Exit, error) {
	r.reaper = reap()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	info, err := r.first(ctx)
	for err == nil {
		r.message.ID = info.ID
		var exit *outcome.Exit
		if exit, err = r.end(ctx, info); err != nil {
			break
		}
		if exit.Reason != outcome.Stopped || ctx.Err() != nil {
			return exit, nil
		}
		again, cancel := context.WithTimeout(ctx, r.Relaunch)
		info, err = r.next(again, info)
		cancel()
		if err != nil {
			return exit, nil
		}
	}
	return nil, err
}

// first waits for the session to be made.
func (r *runner) first(ctx context.Context) (api.SessionInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Wait, fmt.Errorf("%w: %s, within %v", ErrNoSession, r.Session, r.Wait))
	defer cancel()
	ctx, leave := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer leave(nil)
	if r.Alone > 0 {
		watching.Go(func() {
			if r.leftAlone(ctx) {
				leave(fmt.Errorf("%w: %s: nobody was connected for %v", ErrNoSession, r.Session, r.Alone))
			}
		})
	}
	return r.next(ctx, api.SessionInfo{})
}

// leftAlone waits until nobody was connected for the time of Alone; false if ctx ends first.
func (r *runner) leftAlone(ctx context.Context) bool {
	for last := time.Now(); time.Since(last) < r.Alone; {
		if clock.Sleep(ctx, min(aloneStep, r.Alone)) != nil {
			return false
		}
		if r.Connected() {
			last = time.Now()
		}
	}
	return true
}

// start connects to the multiplexer, which it starts, or which an exec has started already.
func (r *runner) start(ctx context.Context) (err error) {
	var mux *client.Client
	r.reaper.without(func() { mux, err = client.Ensure(ctx, r.Paths, r.Version) })
	if err != nil {
		return err
	}
	s, err := mux.Status(ctx)
	if err != nil {
		return err
	}
	// The number of a process of another container means nothing here.
	if argv, err := proctree.Cmdline(s.Keeper.PID); err != nil || !slices.Contains(argv, r.Paths.Dir) {
		mux.Close()
		return fmt.Errorf("%w: %s", ErrShared, r.Paths.Dir)
	}
	r.mux = mux
	return nil
}

// next waits for a session other than the given one.
func (r *runner) next(ctx context.Context, last api.SessionInfo) (api.SessionInfo, error) {
	for pause := retryFirst; ; pause = min(2*pause, retryMax) {
		info, err := r.nextOnce(ctx, last)
		if err == nil {
			return info, nil
		}
		if ctx.Err() != nil {
			return r.justMade(ctx, last)
		}
		err = r.lost(ctx)
		if errors.Is(err, api.ErrNoServer) && last.ID == "" { // it ends by itself without sessions
			err = r.start(ctx)
		}
		if err != nil && !errors.Is(err, api.ErrUnreachable) {
			return info, err
		}
		if clock.Sleep(ctx, pause) != nil {
			return r.justMade(ctx, last)
		}
	}
}

// nextOnce is next for one connection.
func (r *runner) nextOnce(ctx context.Context, last api.SessionInfo) (api.SessionInfo, error) {
	events, err := r.mux.Events(ctx, "")
	if err != nil {
		return api.SessionInfo{}, err
	}
	defer events.Close()
	for {
		info, err := r.mux.Get(ctx, r.Session)
		if err == nil && !same(info, last) {
			return info, nil
		}
		if err != nil && !errors.Is(err, api.ErrNotFound) {
			return info, err
		}
		if _, err := events.Next(); err != nil {
			return info, err
		}
	}
}

// justMade returns the session that was made when ctx ended, so that it is stopped in
// order; the cause if there is none.
func (r *runner) justMade(ctx context.Context, last api.SessionInfo) (api.SessionInfo, error) {
	now, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	info, err := r.mux.Get(now, r.Session)
	if err == nil && !same(info, last) {
		return info, nil
	}
	return info, context.Cause(ctx)
}

// same reports whether both are one session: a relaunch keeps the id.
func same(a, b api.SessionInfo) bool { return a.ID == b.ID && a.Created.Equal(b.Created) }

// lost returns api.ErrNoServer if there is no multiplexer any more, and another error if
// that cannot be told.
func (r *runner) lost(ctx context.Context) error {
	c, err := client.Dial(ctx, r.Paths)
	if err == nil {
		c.Close()
	}
	return err
}

// end waits for the end of a session, and stops it if ctx ends.
func (r *runner) end(ctx context.Context, info api.SessionInfo) (*outcome.Exit, error) {
	r.reaper.watch(info.PID)
	following, cancel := context.WithCancel(ctx)
	followed := make(chan struct{})
	go func() {
		r.follow(following, info.ID)
		close(followed)
	}()
	exit, err := r.await(ctx, info.ID)
	cancel()
	<-followed
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		if err := r.stop(info.ID); err != nil {
			return nil, err
		}
	}
	return r.exit(info, exit), nil
}

// await waits for the end of a session and returns how it ended; nil if it was removed, or if
// ctx ended. ErrLost.
func (r *runner) await(ctx context.Context, id string) (*outcome.Exit, error) {
	for pause := retryFirst; ; pause = min(2*pause, retryMax) {
		result, err := r.mux.Wait(ctx, id, api.WaitRequest{Conditions: []api.Condition{{Exit: true}}})
		if err == nil || ctx.Err() != nil || errors.Is(err, api.ErrNotFound) {
			return result.Exit, nil
		}
		if errors.Is(r.lost(ctx), api.ErrNoServer) {
			return nil, ErrLost
		}
		_ = clock.Sleep(ctx, pause) // the next Wait notices the end of ctx
	}
}

// follow keeps a termination message with what the session shows: everything in the pod may
// be killed at once. It returns when the session or ctx ends.
func (r *runner) follow(ctx context.Context, id string) {
	for {
		seen := r.revision
		_, err := r.mux.Wait(ctx, id, api.WaitRequest{Conditions: []api.Condition{{Exit: true}, {Changed: &seen}}})
		if ctx.Err() != nil || errors.Is(err, api.ErrNotFound) {
			return
		}
		if err == nil && r.look(ctx, id) != api.StateRunning {
			return
		}
		r.save()
		if clock.Sleep(ctx, r.Every) != nil {
			return
		}
	}
}

// stop ends a session: TERM, and KILL after the grace.
func (r *runner) stop(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), r.Grace+killLimit)
	defer cancel()
	r.look(ctx, id)
	r.save() // there may be less time than that
	if err := r.mux.End(ctx, id, r.Grace); err != nil && !errors.Is(err, api.ErrNotFound) {
		return fmt.Errorf("stop %s: %w", r.Session, err)
	}
	return nil
}

// exit returns how a session ended, as far as seen before, and reads its last screen. A
// session that was removed was stopped.
func (r *runner) exit(info api.SessionInfo, seen *outcome.Exit) *outcome.Exit {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	r.look(ctx, info.ID)
	if seen == nil {
		if now, err := r.mux.Get(ctx, info.ID); err == nil && same(now, info) {
			seen = now.Exit
		}
	}
	if seen == nil {
		return &outcome.Exit{Code: -1, Reason: outcome.Stopped, Time: time.Now()}
	}
	return r.known(seen)
}

// known returns the exit with the status of a program whose keeper died: this process is
// its parent then.
func (r *runner) known(e *outcome.Exit) *outcome.Exit {
	if e.Code >= 0 {
		return e
	}
	select {
	case ws := <-r.reaper.status:
		exit := outcome.Exit{Code: ws.ExitStatus(), Reason: outcome.Exited, Time: e.Time}
		if ws.Signaled() {
			exit.Code, exit.Signal, exit.Reason = 128+int(ws.Signal()), unix.SignalName(ws.Signal()), outcome.Killed
		}
		if e.Reason == outcome.Stopped {
			exit.Reason = e.Reason
		}
		return &exit
	case <-time.After(reapLimit):
		return e
	}
}

// look reads what the session shows, and returns its state; "" if it cannot be asked.
func (r *runner) look(ctx context.Context, id string) string {
	shown, err := r.mux.Peek(ctx, api.PeekRequest{Name: id, Screen: true, Format: api.FormatJSON})
	if err != nil || shown.Screen == nil {
		return ""
	}
	r.revision = shown.Revision
	r.message.see(shown.Screen)
	return shown.State
}

// deliver waits until cities have taken all messages of the session, which end with the pod.
func (r *runner) deliver(ctx context.Context) {
	limit := r.Deliver
	if ctx.Err() != nil {
		ctx, limit = context.Background(), stopDeliver
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last, done := context.WithTimeout(context.Background(), limit+endLimit)
	defer done()
	for pause := retryFirst; ; pause = min(2*pause, retryMax) {
		left, err := r.mux.Outbox(last, "", 0, 0)
		if r.message.Undelivered = len(left); err != nil || len(left) == 0 {
			return
		}
		if clock.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// finish reports the end, and ends what is left.
func (r *runner) finish(exit *outcome.Exit, err error) {
	r.message.Exit = exit
	if err != nil {
		r.message.Error = err.Error()
	}
	if exit != nil && exit.Signal == "SIGKILL" && exit.Reason == outcome.Killed && oomKills(cgroups) > 0 {
		exit.Reason = OOMKilled
	}
	r.save()
	if _, err := io.WriteString(r.Screen, r.message.Text()); err != nil {
		r.Warn("the last screen cannot be printed: %v", err)
	}
	if r.mux != nil {
		ctx, cancel := context.WithTimeout(context.Background(), endLimit)
		defer cancel()
		if err := r.mux.Shutdown(ctx, true); err != nil && !errors.Is(err, api.ErrUnreachable) {
			r.Warn("the multiplexer does not end: %v", err)
		}
		r.mux.Close()
	}
	r.reaper.close()
	if errors.Is(err, ErrLost) {
		killChildren()
	}
}

// save writes the termination message.
func (r *runner) save() {
	if r.Report == "" {
		return
	}
	r.message.Time, r.message.OOMKills = time.Now(), oomKills(cgroups)
	if err := r.message.save(r.Report); err != nil {
		r.Warn("the termination message cannot be written: %v", err)
	}
}
