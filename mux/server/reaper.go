package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/limits"
	"gascity.dev/gc/mux/internal/muxdb"
	"golang.org/x/sys/unix"
)

// reaper ends the processes of sessions, including those that outlive their session.
type reaper struct {
	srv   *server
	ended chan *session // sessions whose tree must be swept
}

// kill ends a session's tree and collects it.
func (r *reaper) kill(ctx context.Context, s *session, grace time.Duration) error {
	if s.life.beginKill() {
		if err := r.endTree(ctx, s, grace); err != nil {
			if s.life.abandonKill() {
				r.add(s)
			}
			return err
		}
	} else if err := r.endRest(ctx, s, grace); err != nil {
		return err
	}
	r.srv.sessions.remove(s)
	return nil
}

// untouched keeps every writer out until release, if the session's last input and output are
// those, as its info shows them; else ErrActive.
func (s *session) untouched(ctx context.Context, input, output string) (release func(), err error) {
	nothing := func() {}
	if err := s.input.acquire(ctx); err != nil {
		if errors.Is(err, api.ErrExited) { // what is left of it may be ended
			err = nil
		}
		return nothing, err
	}
	defer s.input.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	in, out := s.srv.clock.Wall(unixTime(s.activity.lastIn)), s.srv.clock.Wall(unixTime(s.activity.lastOut))
	if !shows(in, input) || !shows(out, output) {
		return nil, fmt.Errorf("kill %s: %w", s.rec.ID, api.ErrActive)
	}
	s.input.sealed = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.input.sealed = false
	}, nil
}

// shows reports whether a text is that time.
func shows(at time.Time, text string) bool {
	t, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && t.Equal(at)
}

// end ends a session's tree as kill does, but keeps the session as one that exited. If
// this server ends before, the caller repeats it.
func (r *reaper) end(ctx context.Context, s *session, grace time.Duration) error {
	if !s.life.beginKill() {
		return r.endRest(ctx, s, grace)
	}
	err := s.life.endTree(ctx, grace)
	if err == nil {
		return nil
	}
	if s.life.abandonKill() {
		r.add(s)
	}
	if errors.Is(context.Cause(ctx), api.ErrLeaving) {
		return fmt.Errorf("kill %s: %w", s.name(), api.ErrLeaving)
	}
	return err
}

// endRest ends what is left of an ended session's tree, if no sweep has done so yet.
func (r *reaper) endRest(ctx context.Context, s *session, grace time.Duration) error {
	if s.life.swept.Load() {
		return nil
	}
	batch := []*session{s}
	defer cgroups(s).KillAfter(grace)()
	if err := proctree.Kill(ctx, r.withoutHeirs(cgroups(s).With(forest(batch).Scanner()), batch), grace); err != nil {
		return fmt.Errorf("kill %s: %w", s.name(), err)
	}
	s.life.swept.Store(true)
	return nil
}

// add makes the sweeper end what is left of an ended session's tree. If a
// thousand end at once, leftovers of some keep running, and are listed.
func (r *reaper) add(s *session) {
	select {
	case r.ended <- s:
	default:
	}
}

// endTree ends the processes and waits for the session's end. If this server ends before,
// the next one continues.
func (r *reaper) endTree(ctx context.Context, s *session, grace time.Duration) error {
	deadline := r.srv.clock.Now().Add(grace)
	err := s.life.endTree(ctx, grace)
	if err != nil && errors.Is(context.Cause(ctx), api.ErrLeaving) {
		r.leaveKill(s, deadline)
		return fmt.Errorf("kill %s: %w", s.name(), api.ErrLeaving)
	}
	return err
}

// noticeLimit bounds the wait for the keeper's notice that a program has ended.
func noticeLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, alive.Limit, api.ErrKeeperFrozen)
}

// killAllGrace is the time between TERM and KILL when the server ends.
const killAllGrace = time.Second

// killAll ends many sessions at once and collects them.
func (r *reaper) killAll(ctx context.Context, all []*session) error {
	if len(all) == 0 {
		return nil
	}
	for _, s := range all {
		s.life.stop()
	}
	defer cgroups(all...).KillAfter(killAllGrace)()
	if err := proctree.Kill(ctx, cgroups(all...).With(forest(all).Scanner()), killAllGrace); err != nil {
		return fmt.Errorf("kill %d sessions: %w", len(all), err)
	}
	ctx, cancel := noticeLimit(ctx)
	defer cancel()
	for _, s := range all {
		if err := s.life.await(ctx); err != nil {
			return err
		}
	}
	r.srv.sessions.remove(all...)
	return nil
}

// sweepPause is the time from a session's end to the sweep of its tree. The sweep reads
// the process table, which takes milliseconds of a core, and just then the session is
// often being restarted.
const sweepPause = 50 * time.Millisecond

// run sweeps the trees of ended sessions: HUP, then as Kill. Sessions that end together
// are swept together.
func (r *reaper) run() {
	for {
		var batch []*session
		select {
		case s := <-r.ended:
			batch = append(batch, s)
		case <-r.srv.lifetime.done:
			return
		}
		pause := time.NewTimer(sweepPause)
		for more := true; more; {
			select {
			case s := <-r.ended:
				batch = append(batch, s)
			case <-pause.C:
				more = false
			case <-r.srv.lifetime.done:
				return
			}
		}
		r.sweep(batch)
	}
}

// sweep skips sessions that Kill is ending: a relaunch may reuse their id. For the
// same reason it leaves out what belongs to a later session with the same id.
func (r *reaper) sweep(batch []*session) {
	batch = slices.DeleteFunc(batch, func(s *session) bool { return s.life.killed() })
	if len(batch) == 0 {
		return
	}
	left, err := r.withoutHeirs(cgroups(batch...).With(forest(batch).Scanner()), batch)()
	if err == nil && len(left) == 0 {
		markSwept(batch)
	}
	if err != nil || len(left) == 0 {
		return
	}
	for _, p := range left {
		if p.Alive() {
			_ = unix.Kill(p.PID, unix.SIGHUP)
		}
	}
	r.srv.lifetime.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		defer cgroups(batch...).KillAfter(sweepGrace)()
		if err := proctree.Kill(ctx, r.withoutHeirs(cgroups(batch...).With(forest(batch).Scanner()), batch), sweepGrace); err != nil {
			slog.Warn("cannot end all processes of ended sessions", "sessions", len(batch), "error", err)
			return
		}
		markSwept(batch)
	})
}

func markSwept(batch []*session) {
	for _, s := range batch {
		s.life.swept.Store(true)
	}
}

// withoutHeirs leaves out the processes of later sessions with the same ids.
func (r *reaper) withoutHeirs(list func() ([]proctree.Proc, error), batch []*session) func() ([]proctree.Proc, error) {
	srv := r.srv
	return func() ([]proctree.Proc, error) {
		procs, err := list()
		if err != nil || len(procs) == 0 {
			return procs, err
		}
		theirs := map[int]bool{}
		srv.mu.Lock()
		var heirs []*session
		for _, s := range batch {
			if heir := srv.sessions.byID[s.rec.ID]; heir != nil && heir != s {
				heirs = append(heirs, heir)
			}
		}
		srv.mu.Unlock()
		for _, h := range heirs {
			tree := h.life.tree()
			tree.ID = ""
			own, err := tree.Members()
			if err != nil {
				return nil, err
			}
			for _, p := range own {
				theirs[p.PID] = true
			}
		}
		return slices.DeleteFunc(procs, func(p proctree.Proc) bool { return theirs[p.PID] }), nil
	}
}

// sweepGrace is the time between TERM and KILL for the rest of a tree.
const sweepGrace = 2 * time.Second

// leaveKill leaves the rest of a kill to the next server.
func (r *reaper) leaveKill(s *session, deadline time.Time) {
	if err := muxdb.LeaveKill(r.srv.db, s.rec.ID, deadline); err != nil {
		slog.Warn("cannot hand over a kill", "session", s.rec.ID, "error", err)
	}
}

// finishKills makes left resume the kills that the last server left.
func (r *reaper) finishKills(left *adoption) error {
	srv := r.srv
	kills, err := muxdb.TakeKills(srv.db)
	if err != nil {
		return fmt.Errorf("unfinished kills: %w", err)
	}
	for id, deadline := range kills {
		s := srv.sessions.withID(id)
		if s == nil {
			continue
		}
		left.resumed = append(left.resumed, func(ctx context.Context) {
			ctx, done := srv.untilDone(ctx)
			defer done()
			finish := r.kill
			if s.rec.Exec { // its record and output are kept
				finish = r.endTree
			}
			if err := finish(ctx, s, max(0, -srv.clock.Since(deadline))); err != nil {
				slog.Warn("cannot finish a kill", "session", s.rec.ID, "error", err)
			}
		})
	}
	return nil
}

// cgroups returns the cgroups of sessions.
func cgroups(all ...*session) limits.Groups {
	var groups limits.Groups
	for _, s := range all {
		if s.rec.Cgroup != "" {
			groups = append(groups, s.rec.Cgroup)
		}
	}
	return groups
}
