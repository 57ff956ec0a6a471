package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/limits"
	"gascity.dev/gc/mux/internal/trim"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keeper"
)

// exitNoticed is called by the keeper's link for every exit.
func (srv *server) exitNoticed(n keeper.ExitNotice) {
	srv.mu.Lock()
	s := srv.sessions[n.ID]
	if s == nil {
		// The notice overtook the session's entry; lateExit finds it.
		if srv.early == nil {
			srv.early = make(map[string]keeper.ExitNotice)
		}
		srv.early[n.ID] = n
	}
	srv.mu.Unlock()
	if s != nil {
		s.life.leaderEnded(exitOf(unix.WaitStatus(n.Status), n.At))
	}
}

// lateExit delivers a notice that came before the session was entered.
func (srv *server) lateExit(s *session) {
	srv.mu.Lock()
	n, ok := srv.early[s.rec.ID]
	delete(srv.early, s.rec.ID)
	srv.mu.Unlock()
	if ok {
		s.life.leaderEnded(exitOf(unix.WaitStatus(n.Status), n.At))
	}
}

// sessionEnded enters the session among the exited ones. The session's mu is
// held, so that the work that needs the server's own is done elsewhere.
func (srv *server) sessionEnded(s *session) {
	if s.storage.journal.Flags.Or(journal.FlagEnded)&journal.FlagEnded == 0 { // else a server before this one said so
		exit := *s.life.exit
		srv.emit(s, api.Event{Type: api.EventExited, Exit: &exit})
	}
	srv.work.Go(func() { srv.moveExited(s) })
}

// moveExited frees the name and lets the sweeper end what is left of the tree.
func (srv *server) moveExited(s *session) {
	srv.execs.ended(s)
	srv.mu.Lock()
	if srv.live[s.name()] == s {
		delete(srv.live, s.name())
	}
	if srv.sessions[s.rec.ID] == s && !s.life.collecting && !slices.Contains(srv.exited, s) {
		s.life.keptSince = srv.clock.Now()
		srv.exited = append(srv.exited, s)
	}
	drop := srv.overdue(srv.clock.Now())
	srv.armSweep()
	srv.checkIdle()
	link := srv.link
	srv.mu.Unlock()
	srv.collect(drop)
	srv.queue.sessionsChanged()
	srv.execs.wake()
	select {
	case srv.ended <- s:
	default: // a thousand at once: their orphans are listed, not swept
	}
	if err := srv.giveForeign(link, s); err != nil && !errors.Is(err, keeper.ErrLost) { // it lets go of the terminal
		slog.Warn("cannot give an ended session to the keeper", "session", s.rec.ID, "error", err)
	}
}

// overdue takes the exited sessions that are not kept any longer. mu is held.
func (srv *server) overdue(now time.Time) []*session {
	left := map[bool]int{} // of background commands, and of the others
	for _, s := range srv.exited {
		left[s.rec.Exec]++
	}
	var drop []*session
	srv.exited = slices.DeleteFunc(srv.exited, func(s *session) bool {
		most := srv.times.keepMost
		if s.rec.Exec {
			most = min(most, keepExecs)
		}
		if left[s.rec.Exec] <= most && now.Sub(s.life.keptSince) < srv.times.keep {
			return false
		}
		left[s.rec.Exec]--
		s.life.collecting = true
		drop = append(drop, s)
		return true
	})
	return drop
}

// armSweep sets the one timer that collects exited sessions. mu is held.
func (srv *server) armSweep() {
	if srv.sweep != nil {
		srv.sweep.Stop()
		srv.sweep = nil
	}
	if len(srv.exited) == 0 {
		return
	}
	srv.sweep = time.AfterFunc(srv.times.keep-srv.clock.Since(srv.exited[0].life.keptSince)+time.Millisecond, func() {
		srv.mu.Lock()
		drop := srv.overdue(srv.clock.Now())
		srv.armSweep()
		srv.mu.Unlock()
		srv.collect(drop)
	})
}

// collect forgets sessions: nothing of them is left.
func (srv *server) collect(drop []*session) {
	if len(drop) == 0 {
		return
	}
	var ids []string
	for _, s := range drop {
		ids = append(ids, s.rec.ID)
		s.mu.Lock()
		s.life.collected = true
		s.storage.journal.Close()
		s.storage.history.Remove()
		s.storage.recording.Remove()
		s.storage.recording = nil
		if s.life.watch >= 0 {
			unix.Close(s.life.watch)
			s.life.watch = -1
		}
		s.broadcast()
		s.mu.Unlock()
	}
	if err := srv.currentLink().Forget(ids...); err != nil {
		slog.Warn("the keeper cannot forget sessions", "error", err)
	}
	if err := srv.dropMeta(ids...); err != nil {
		slog.Warn("cannot remove metadata", "error", err)
	}
	for _, s := range drop {
		if s.rec.Cgroup == "" {
			continue
		}
		srv.work.Go(func() {
			if err := limits.Remove(s.rec.Cgroup); err != nil {
				slog.Warn("cannot remove a cgroup", "cgroup", s.rec.Cgroup, "error", err)
			}
		})
	}
	srv.mu.Lock()
	for _, s := range drop {
		delete(srv.sessions, s.rec.ID)
		srv.table.Release(s.rec.Slot)
	}
	srv.checkIdle()
	srv.mu.Unlock()
	for _, s := range drop {
		srv.emit(s, api.Event{Type: api.EventRemoved})
	}
}

// checkIdle runs the timer that ends a server without sessions. mu is held.
func (srv *server) checkIdle() {
	if len(srv.live) > 0 || len(srv.sessions) > 0 {
		if srv.idle != nil {
			srv.idle.Stop()
			srv.idle = nil
		}
		return
	}
	if srv.idle == nil {
		if srv.http != nil {
			time.AfterFunc(trim.AfterStart, trim.Memory)
		}
		srv.idle = time.AfterFunc(srv.times.idle, func() {
			srv.mu.Lock()
			empty := len(srv.live) == 0 && len(srv.sessions) == 0
			srv.stopping = srv.stopping || empty
			srv.mu.Unlock()
			if empty {
				srv.end()
			}
		})
	}
}

// kill ends a session's tree and collects it.
func (srv *server) kill(ctx context.Context, s *session, grace time.Duration) error {
	s.mu.Lock()
	s.life.stopping = true
	running := s.life.exit == nil
	if running {
		s.life.killers++
	}
	s.mu.Unlock()
	if running {
		if err := srv.endTree(ctx, s, grace); err != nil {
			srv.unkilled(s)
			return err
		}
	}
	srv.remove(s)
	return nil
}

// unkilled gives what a Kill left over to the sweeper.
func (srv *server) unkilled(s *session) {
	s.mu.Lock()
	s.life.killers--
	over := s.life.exit != nil
	s.mu.Unlock()
	if over {
		select {
		case srv.ended <- s:
		default:
		}
	}
}

// endTree ends the processes and waits for the session's end. Where this server
// ends before, the next one goes on.
func (srv *server) endTree(ctx context.Context, s *session, grace time.Duration) error {
	deadline := srv.clock.Now().Add(grace)
	err := s.life.endTree(ctx, grace)
	if err != nil && errors.Is(context.Cause(ctx), api.ErrLeaving) {
		srv.leaveKill(s, deadline)
		return fmt.Errorf("kill %s: %w", s.name(), api.ErrLeaving)
	}
	return err
}

// noticeLimit bounds the wait for the keeper's word that a program has ended.
func noticeLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, alive.Limit, api.ErrKeeperFrozen)
}

// remove collects sessions at once; those that somebody else collects are left
// to them.
func (srv *server) remove(all ...*session) {
	var mine []*session
	srv.mu.Lock()
	for _, s := range all {
		if srv.sessions[s.rec.ID] != s || s.life.collecting {
			continue
		}
		s.life.collecting = true
		mine = append(mine, s)
		if srv.live[s.name()] == s {
			delete(srv.live, s.name())
		}
		if i := slices.Index(srv.exited, s); i >= 0 {
			srv.exited = slices.Delete(srv.exited, i, i+1)
		}
	}
	srv.mu.Unlock()
	srv.collect(mine)
}

// killAllGrace is what processes have between TERM and KILL when the server
// ends.
const killAllGrace = time.Second

// killAll ends many sessions at once and collects them.
func (srv *server) killAll(ctx context.Context, all []*session) error {
	if len(all) == 0 {
		return nil
	}
	for _, s := range all {
		s.mu.Lock()
		s.life.stopping = true
		s.mu.Unlock()
	}
	defer killLate(killAllGrace, all...)()
	if err := proctree.Kill(ctx, withCgroups(forest(all).Scanner(), all...), killAllGrace); err != nil {
		return fmt.Errorf("kill %d sessions: %w", len(all), err)
	}
	ctx, cancel := noticeLimit(ctx)
	defer cancel()
	for _, s := range all {
		if err := s.life.await(ctx); err != nil {
			return err
		}
	}
	srv.remove(all...)
	return nil
}

// sweepPause is how long after an end its tree is swept. The process table is
// read for it, which takes a core for milliseconds, and just then the session is
// being started again.
const sweepPause = 50 * time.Millisecond

// sweepTrees ends what sessions have left behind at their end: HUP, then as
// Kill. Those that ended together are swept together.
func (srv *server) sweepTrees() {
	for {
		var batch []*session
		select {
		case s := <-srv.ended:
			batch = append(batch, s)
		case <-srv.done:
			return
		}
		pause := time.NewTimer(sweepPause)
		for more := true; more; {
			select {
			case s := <-srv.ended:
				batch = append(batch, s)
			case <-pause.C:
				more = false
			case <-srv.done:
				return
			}
		}
		srv.sweepBatch(batch)
	}
}

// Not those that Kill ends: the next session may bear the same id, as after a
// relaunch, and would be swept with them. For the same reason what belongs to
// a later session of the id is left alone.
func (srv *server) sweepBatch(batch []*session) {
	batch = slices.DeleteFunc(batch, func(s *session) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.life.killers > 0
	})
	if len(batch) == 0 {
		return
	}
	left, err := srv.withoutHeirs(withCgroups(forest(batch).Scanner(), batch...), batch)()
	if err != nil || len(left) == 0 {
		return
	}
	for _, p := range left {
		if p.Alive() {
			_ = unix.Kill(p.PID, unix.SIGHUP)
		}
	}
	srv.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		defer killLate(sweepGrace, batch...)()
		if err := proctree.Kill(ctx, srv.withoutHeirs(withCgroups(forest(batch).Scanner(), batch...), batch), sweepGrace); err != nil {
			slog.Warn("cannot end all processes of ended sessions", "sessions", len(batch), "error", err)
		}
	})
}

// withoutHeirs leaves out what belongs to later sessions with the ids of these.
func (srv *server) withoutHeirs(list func() ([]proctree.Proc, error), batch []*session) func() ([]proctree.Proc, error) {
	return func() ([]proctree.Proc, error) {
		procs, err := list()
		if err != nil || len(procs) == 0 {
			return procs, err
		}
		theirs := map[int]bool{}
		srv.mu.Lock()
		var heirs []*session
		for _, s := range batch {
			if heir := srv.sessions[s.rec.ID]; heir != nil && heir != s {
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

// sweepGrace is what the rest of a tree has between TERM and KILL.
const sweepGrace = 2 * time.Second
