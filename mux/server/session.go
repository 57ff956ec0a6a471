package server

import (
	"encoding/json"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keeper"
	"gascity.dev/gc/vt"
)

// sessionRecord is what a session is; the keeper holds it beside the process,
// so that a new server knows everything without a file. JSON, fields are only
// added.
type sessionRecord struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Command   string           `json:"command"`
	WorkDir   string           `json:"workDir"`
	Created   int64            `json:"created"` // Unix nanoseconds
	Started   int64            `json:"started,omitempty"`
	Cols      int              `json:"cols"` // the size without clients
	Rows      int              `json:"rows"`
	HistLines int              `json:"histLines,omitempty"`
	HistBytes int64            `json:"histBytes,omitempty"`
	Recording bool             `json:"recording,omitempty"`
	Ready     string           `json:"ready,omitempty"`
	Rules     []api.StatusRule `json:"rules,omitempty"`
	Composer  api.Composer     `json:"composer,omitzero"`
	Reports   bool             `json:"reports,omitempty"`
	Interrupt []string         `json:"interrupt,omitempty"`
	Cgroup    string           `json:"cgroup,omitempty"` // directory; "": none
	Limits    []api.LimitInfo  `json:"limits,omitempty"`
	Slot      int              `json:"slot"`            // of the journal's header
	Exec      bool             `json:"exec,omitempty"`  // a background command
	Pipes     bool             `json:"pipes,omitempty"` // no terminal
	Owner     string           `json:"owner,omitempty"` // of a background command
}

func (r *sessionRecord) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("session record: " + err.Error()) // strings and numbers only
	}
	return b
}

// session is one incarnation: a program on a terminal, its screen, and
// everybody who looks at it. An idle one has no goroutine, buffer or timer.
//
// mu guards everything below it, the emulator included. It is held for the
// time of a read and its emulation at most, never while anything is waited
// for. Input has a lock of its own, see input.
type session struct {
	srv     *server
	rec     sessionRecord          // its Name is for the keeper; see name
	called  atomic.Pointer[string] // changed under server.mu
	pid     int
	start   uint64       // of pid, against its reuse
	slot    uint64       // in the readiness loop
	watch   int          // descriptor of pid when a lost keeper was its parent, else -1
	over    time.Time    // when it was kept as an ended one, by the server's clock; guarded by server.mu
	spawner *keeper.Link // whose keeper started it; nil for one that was adopted
	taken   bool         // somebody collects it; guarded by server.mu

	mu         sync.Mutex
	term       *vt.Terminal
	first      uint64 // of the numbers of its screens: another incarnation of the name has others
	remade     uint64 // how often term was made anew, in all servers
	j          *journal.Journal
	hist       *journal.History
	tape       *journal.Recording // nil without
	fd         int                // the terminal's master; -1 after the end
	cols, rows int                // in force
	out        uint64             // bytes of output that the screen shows
	told       uint64             // and that everybody knows of
	opened     []byte             // the sequence that was open where the journal's segment begins
	lastIn     int64              // Unix nanoseconds
	ring       *process.Ring      // output of a background command; nil without
	flow       flow               // of that output to its caller
	stdin      *stdin             // nil on a terminal
	lastOut    int64              // both by the server's clock
	bells      uint64
	prompt     bool          // a shell prompt is open
	doing      *activity     // nil while nothing told and nobody asked
	changed    chan struct{} // closed at the next change; nil while nobody waits
	ended      chan struct{} // closed at the end; nil while nobody waits
	eof        bool          // nothing more will come from the terminal
	dead       *api.Exit     // the leader ended; output may still be drained
	exit       *api.Exit     // the session ended
	collected  bool          // no trace is left
	born       int64         // when it began, by the server's clock
	small      journal.Place // where smallSegment looked
	used       int64         // when the screen was last written to or read, Unix nanoseconds
	inUse      bool          // srv.resting knows it
	stall      stall         // of its journal
	stopping   bool          // Kill began
	killers    int           // Kills that are under way, or ended the whole tree
	lost       bool          // the screen was lost
	panics     int
	typists    map[uint64]*journal.Typist // by the number of the client
	clients    []*attachClient
	leader     *attachClient // whose size is in force
	in         input
	drain      *time.Timer
	sync       *time.Timer // runs while a synchronized update is on
}

// terminal options that every session shares.
func (s *session) options() vt.Options {
	return vt.Options{
		Cols: s.rec.Cols, Rows: s.rec.Rows, HistoryLines: s.rec.HistLines, HistoryBytes: s.rec.HistBytes,
		Version: "gc " + s.srv.version, Pages: s.hist, Pipe: s.rec.Pipes,
	}
}

// newSession makes the session of a record, with a fresh screen; fd and j are
// taken over.
func newSession(srv *server, rec sessionRecord, pid int, start uint64, fd int, j *journal.Journal) (*session, error) {
	s := &session{srv: srv, rec: rec, pid: pid, start: start, fd: fd, j: j, watch: -1, cols: rec.Cols, rows: rec.Rows, in: input{lock: newFIFO(), nudges: newFIFO()}}
	s.called.Store(&rec.Name)
	h := fnv.New32a()
	_, _ = h.Write([]byte(rec.ID))        // never fails
	s.first = uint64(h.Sum32() & 0xfffff) // a revision stays below 2^53, for those who count in floating point
	s.born = srv.clock.Now().Add(-max(0, time.Since(time.Unix(0, rec.Started)))).UnixNano()
	s.hist = &journal.History{Path: srv.historyPath(rec.ID), Writer: srv.history}
	t, err := vt.New(s.options())
	if err != nil {
		return nil, err
	}
	s.prepare(t)
	s.term = t
	return s, nil
}

// name is what the session is called now.
func (s *session) name() string { return *s.called.Load() }

// tree is the session's processes, also after the leader was reaped.
func (s *session) tree() proctree.Tree {
	return proctree.Tree{Root: s.pid, RootStart: s.start, SID: s.pid, ID: s.rec.ID}
}

// forest identifies the processes of many sessions.
func forest(all []*session) proctree.Forest {
	f := make(proctree.Forest, len(all))
	for i, s := range all {
		f[i] = s.tree()
	}
	return f
}

// silent is how long there was no output, if ever. mu is held.
func (s *session) silent() time.Duration {
	return max(0, s.srv.clock.Since(unixTime(max(s.lastOut, s.born))))
}

// broadcast wakes everybody who waits for a change, and counts it. mu is held.
func (s *session) broadcast() {
	s.srv.changes.Add(1)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// change returns the channel that closes at the next change. mu is held.
func (s *session) change() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// end returns the channel that closes when the session ends. Who waits for
// nothing else is not woken by output. mu is held.
func (s *session) end() <-chan struct{} {
	if s.ended == nil {
		s.ended = make(chan struct{})
		if s.exit != nil {
			close(s.ended)
		}
	}
	return s.ended
}

// info is what the API shows.
func (s *session) info() api.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := api.SessionInfo{
		ID: s.rec.ID, Name: s.name(), State: api.StateRunning, PID: s.pid,
		Command: s.rec.Command, WorkDir: s.rec.WorkDir, Size: api.Size{Cols: s.cols, Rows: s.rows},
		Title: s.term.Title(), Created: time.Unix(0, s.rec.Created), Started: time.Unix(0, s.rec.Started),
		LastInput: s.srv.clock.Wall(unixTime(s.lastIn)), LastOutput: s.srv.clock.Wall(unixTime(s.lastOut)), Attached: len(s.clients),
		Kind: s.rec.kind(), Owner: s.rec.Owner, Revision: s.revision(), Output: s.out, ScreenLost: s.lost, Recording: s.rec.Recording,
		ReadyPrefix: s.rec.Ready, Limits: s.rec.Limits,
	}
	i.Dropped = s.dropped()
	if s.exit != nil {
		e := *s.exit
		i.State, i.PID, i.Exit = api.StateExited, 0, &e
	}
	return i
}

// dropped is what of the output was not kept; nil for nothing. mu is held.
func (s *session) dropped() *api.Dropped {
	d := api.Dropped{Dropped: s.term.Dropped(), HistoryBytes: s.hist.LostBytes()}
	d.Replies += s.in.unread
	if d == (api.Dropped{}) {
		return nil
	}
	return &d
}

func unixTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// isRunning reports whether the session has not ended.
func (s *session) isRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exit == nil
}

// resizeTo puts a size in force: the emulator first, then the journal, then the
// terminal, so that what the program writes for the new size meets the new
// screen, now and in a replay. mu is held.
func (s *session) resizeTo(cols, rows int) error {
	if cols == s.cols && rows == s.rows {
		return nil
	}
	if err := s.term.Resize(cols, rows); err != nil {
		return err
	}
	s.cols, s.rows = cols, rows
	s.report()
	s.nextSegment()
	s.tape.Resize(cols, rows)
	if s.fd >= 0 && !s.rec.Pipes {
		ws := unix.Winsize{Col: uint16(cols), Row: uint16(rows)}
		if err := unix.IoctlSetWinsize(s.fd, unix.TIOCSWINSZ, &ws); err != nil {
			return err
		}
	}
	for _, c := range s.clients {
		c.resync()
	}
	s.broadcast()
	s.srv.emit(s, api.Event{Type: api.EventResized, Size: &api.Size{Cols: cols, Rows: rows}})
	return nil
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
