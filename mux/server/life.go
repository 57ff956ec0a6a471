package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/keeper"
	"golang.org/x/sys/unix"
)

// life is a session's leader, from its start to the removal of every trace.
type life struct {
	s          *session
	pid        int
	start      uint64       // of pid, to detect its reuse
	born       int64        // when it began, by the server's clock
	spawner    *keeper.Link // to the keeper that started it; nil if it was adopted
	swept      atomic.Bool  // nothing is left of the tree of the ended session
	keptSince  time.Time    // when it became an exited session; guarded by server.mu
	collecting bool         // guarded by server.mu

	// guarded by session.mu
	watch     int           // descriptor of pid when a lost keeper was its parent, else -1
	stopping  bool          // Kill began
	killers   int           // Kills under way, or that ended the whole tree
	dead      *api.Exit     // the leader ended; output may still be drained
	exit      *api.Exit     // the session ended
	done      chan struct{} // closed at the end; nil without a waiter
	drain     *time.Timer   // looks at the terminal again; see later
	collected bool          // no trace is left
}

// drainTime is how long to wait for output after the leader's end while another process
// holds the terminal.
const drainTime = 250 * time.Millisecond

// tree identifies the session's processes, also after the leader was reaped.
func (l *life) tree() proctree.Tree {
	return proctree.Tree{Root: l.pid, RootStart: l.start, SID: l.pid, ID: l.s.rec.ID}
}

// leaderEnded notes the exit of the leader. The session ends when its output is drained.
func (l *life) leaderEnded(e *api.Exit) {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.dead != nil {
		return
	}
	held := s.output.held()
	l.dead = e
	switch {
	case l.stopping:
		e.Reason = api.ReasonStopped
	case e.Code == 127 || e.Code == 126:
		e.Reason = api.ReasonNotFound
	}
	if s.tty.eof || s.tty.closed() {
		l.finish()
		return
	}
	l.later(drainTime, l.drained)
	if held { // read what is left in the pipe now
		s.output.resume()
	}
}

// drained ends a session whose terminal another process holds open. It first reads what
// is there: on a busy machine the loop may be behind.
func (l *life) drained() {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for total := 0; total < lastBytes && !s.tty.closed() && l.exit == nil && !s.output.held(); {
		n := s.tty.read(turnBytes)
		if n == 0 {
			break
		}
		total += n
	}
	l.finish()
}

// later calls f after d, instead of what a call before set, unless the session ends. mu
// is held.
func (l *life) later(d time.Duration, f func()) {
	if l.drain != nil {
		l.drain.Stop()
	}
	l.drain = time.AfterFunc(d, f)
}

// finish ends the session. mu is held.
func (l *life) finish() {
	s := l.s
	if l.exit != nil {
		return
	}
	if l.drain != nil {
		l.drain.Stop()
	}
	l.exit = l.dead
	s.tty.close()
	s.input.writable()
	s.output.wake()
	s.clients.Poke()
	s.broadcast()
	if l.done != nil {
		close(l.done)
	}
	s.srv.sessions.ended(s)
}

// lastBytes limits the bytes read from such a terminal.
const lastBytes = 4 << 20

// exitTime returns when the session ended by the system's clock, as its keeper saw it.
func (l *life) exitTime() (t time.Time) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.exit != nil {
		t = l.exit.Time
	}
	return t
}

func (l *life) endTree(ctx context.Context, grace time.Duration) error {
	s := l.s
	defer cgroups(s).KillAfter(grace)()
	if err := proctree.Kill(ctx, cgroups(s).With(l.tree().Scanner()), grace); err != nil {
		return fmt.Errorf("kill %s: %w", s.name(), err)
	}
	ctx, cancel := noticeLimit(ctx)
	defer cancel()
	return l.await(ctx)
}

// await waits for the session's end.
func (l *life) await(ctx context.Context) error {
	l.s.mu.Lock()
	end := l.endChan()
	l.s.mu.Unlock()
	select {
	case <-end:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// endChan returns the channel that closes when the session ends. Unlike change, it does
// not wake its readers for output. mu is held.
func (l *life) endChan() <-chan struct{} {
	if l.done == nil {
		l.done = make(chan struct{})
		if l.exit != nil {
			close(l.done)
		}
	}
	return l.done
}

// ended reports whether the session has ended. mu is held.
func (l *life) ended() bool { return l.exit != nil }

// ending reports whether the leader has ended; output may still come. mu is held.
func (l *life) ending() bool { return l.dead != nil || l.exit != nil }

// running reports whether the session has not ended.
func (l *life) running() bool {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.exit == nil
}

// beginKill notes that a Kill began. It reports whether the session runs; then the Kill
// ends its whole tree, or calls abandonKill.
func (l *life) beginKill() (running bool) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.stopping = true
	if !l.ended() {
		l.killers++
	}
	return !l.ended()
}

// abandonKill notes that a Kill failed, and reports whether the session ended meanwhile.
func (l *life) abandonKill() (ended bool) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.killers--
	return l.ended()
}

// killed reports whether a Kill ends the tree, or did.
func (l *life) killed() bool {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.killers > 0
}

// stop notes that the server ends the session.
func (l *life) stop() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.stopping = true
}

// exited returns the exit of an ended session.
func (l *life) exited() api.Exit {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return *l.exit
}

// watchLeader opens a descriptor of the leader, whose parent has died. It reports whether
// it did so now. mu is held.
func (l *life) watchLeader() bool {
	if l.dead != nil || l.watch >= 0 {
		return false
	}
	l.watch = sys.OpenProcess(l.pid, l.start)
	return true
}

// collect notes that no trace of the session is left. mu is held.
func (l *life) collect() {
	l.collected = true
	if l.watch >= 0 {
		unix.Close(l.watch)
		l.watch = -1
	}
}

// exitCopy returns a copy of the exit. mu is held.
func (l *life) exitCopy() *api.Exit {
	if l.exit == nil {
		return nil
	}
	e := *l.exit
	return &e
}

// exitOf translates a wait status.
func exitOf(ws unix.WaitStatus, at time.Time) *api.Exit {
	switch {
	case ws.Exited():
		e := &api.Exit{Code: ws.ExitStatus(), Reason: api.ReasonExited, Time: at}
		return e
	case ws.Signaled():
		return &api.Exit{Code: 128 + int(ws.Signal()), Signal: unix.SignalName(ws.Signal()), Reason: api.ReasonKilled, Time: at}
	}
	return &api.Exit{Code: -1, Reason: api.ReasonUnknown, Time: at}
}

// alive reports whether a live process of the tree has one of the names; true if names is
// empty.
func (l *life) alive(names []string) (bool, error) {
	if !l.running() {
		return false, nil
	}
	if len(names) == 0 {
		return true, nil
	}
	if l.leaderIs(names) {
		return true, nil // the usual case: no scan of the process table
	}
	members, err := l.tree().Members()
	if err != nil {
		return false, err
	}
	for _, p := range members {
		if p.Alive() && proctree.Matches(p.PID, names) {
			return true, nil
		}
	}
	return false, nil
}

// leaderIs reports whether the leader is alive and has one of the names.
func (l *life) leaderIs(names []string) bool {
	p, err := proctree.Get(l.pid)
	return err == nil && (l.start == 0 || p.Start == l.start) && p.Matches(names)
}

// seenAlive checks the leader and the processes of its terminal, which include the
// program in all but rare cases.
func (l *life) seenAlive(names []string, table *map[int][]proctree.Proc) bool {
	if len(names) == 0 || l.leaderIs(names) {
		return true
	}
	if *table == nil {
		*table = bySession()
	}
	for _, p := range (*table)[l.pid] {
		if now, err := proctree.Get(p.PID); err == nil && now.Start == p.Start && now.Matches(names) {
			return true
		}
	}
	return false
}

// forest identifies the processes of many sessions.
func forest(all []*session) proctree.Forest {
	f := make(proctree.Forest, len(all))
	for i, s := range all {
		f[i] = s.life.tree()
	}
	return f
}
