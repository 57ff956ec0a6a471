package server

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/attached"
	"gascity.dev/gc/mux/internal/endpoint"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
	"golang.org/x/sys/unix"
)

// viewed is a session as attached terminals see it.
type viewed struct{ s *session }

func (v viewed) ID() string   { return v.s.rec.ID }
func (v viewed) Name() string { return v.s.name() }
func (v viewed) Interrupted() { v.s.input.cancelNudge() }
func (v viewed) Type(ctx context.Context, t *journal.Typist, p []byte) error {
	return v.s.input.sendTyped(ctx, t, p)
}

func (v viewed) Lock()                        { v.s.mu.Lock() }
func (v viewed) Unlock()                      { v.s.mu.Unlock() }
func (v viewed) Exit() *api.Exit              { return v.s.life.exitCopy() }
func (v viewed) Ending() bool                 { return v.s.life.ending() }
func (v viewed) View() *vt.Terminal           { return v.s.screen.view() }
func (v viewed) Rendered() uint64             { return v.s.screen.rendered }
func (v viewed) Resize(cols, rows int) error  { return v.s.screen.resize(cols, rows) }
func (v viewed) SetHost(o vt.HostTerminal)    { v.s.screen.setHost(o) }
func (v viewed) Configured() (cols, rows int) { return v.s.rec.Cols, v.s.rec.Rows }
func (v viewed) Repaint()                     { _ = v.s.tty.signalForeground(unix.SIGWINCH) }
func (v viewed) Seen()                        { v.s.activity.see() }
func (v viewed) Drafted()                     { v.s.nudges.Touch() }
func (v viewed) Changed()                     { v.s.broadcast() }
func (v viewed) Publish(e api.Event)          { v.s.srv.events.emit(v.s, e) }

func (v viewed) Typist(id uint64) (*journal.Typist, error) { return v.s.storage.journal.Typist(id) }

// Raw implements [attached.Session]. The bytes of a pipe have no carriage returns, and
// 8-bit controls mean something else on a person's terminal.
func (v viewed) Raw(cols, rows int) bool {
	sc := &v.s.screen
	return cols == sc.cols && rows == sc.rows && !v.s.rec.Pipes && !sc.term.EightBit()
}

func (v viewed) Segment() (base uint64, output, pending []byte) {
	j := v.s.storage.journal
	base = j.Start()
	return base, j.From(base)[:v.s.screen.rendered-base], v.s.storage.pending
}

func handleAttach(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	return endpoint.Hijacked{}, s.clients.Serve(w, r, endpoint.Peer(r), s.srv.nesting)
}

// aroundAny returns the running sessions that the processes run in.
func (t *sessionTable) aroundAny(pids []int) []attached.Session {
	var all []attached.Session
	for _, pid := range pids {
		if s := t.around(pid); s != nil && !slices.Contains(all, attached.Session(viewed{s})) {
			all = append(all, viewed{s})
		}
	}
	return all
}

// leaders returns the sessions by the pids of their first processes.
func (t *sessionTable) leaders() map[int]*session {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	leaders := make(map[int]*session, len(t.byName))
	for _, s := range t.byName {
		if s != nil && s.life.pid > 0 {
			leaders[s.life.pid] = s
		}
	}
	return leaders
}

// around returns the running session that a process runs in; nil if none.
func (t *sessionTable) around(pid int) *session {
	leaders := t.leaders()
	for at := pid; at > 1; {
		if s := leaders[at]; s != nil {
			return s
		}
		p, err := proctree.Get(at)
		if err != nil {
			break
		}
		at = p.PPID
	}
	env, err := proctree.Environ(pid) // if its parents have ended
	if err != nil || env[proctree.SessionVar] == "" {
		return nil
	}
	t.awaitID(env[proctree.SessionVar])
	return t.withID(env[proctree.SessionVar])
}

// configure sets the session's size without clients.
func (s *session) configure(cols, rows int) error {
	if err := api.CheckSize(cols, rows); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.ended() {
		return api.ErrExited
	}
	s.rec.Cols, s.rec.Rows = cols, rows
	if err := s.srv.keeper.current().Deposit(s.rec.ID, s.rec.encode()); err != nil {
		slog.Warn("the keeper did not take a new size", "session", s.rec.ID, "error", err)
	}
	if s.clients.Sized() {
		return nil
	}
	return s.screen.resize(cols, rows)
}
