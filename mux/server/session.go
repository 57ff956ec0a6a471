package server

import (
	"encoding/json"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/attached"
	"gascity.dev/gc/mux/internal/fifo"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// sessionRecord describes a session. The keeper holds it beside the process, so that a
// new server needs no file. JSON; fields are only added.
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
	RecordMax int64            `json:"recordMax,omitempty"` // api.CreateRequest.RecordingMax
	Ready     string           `json:"ready,omitempty"`
	Rules     []api.StatusRule `json:"rules,omitempty"`
	MaxedOut  []api.LimitRule  `json:"limitRules,omitempty"`
	Zone      string           `json:"zone,omitempty"` // TZ of its environment
	Composer  api.Composer     `json:"composer,omitzero"`
	First     string           `json:"first,omitempty"` // end of the first line of its first message
	Reports   bool             `json:"reports,omitempty"`
	Interrupt []string         `json:"interrupt,omitempty"`
	Stuck     clock.Millis     `json:"stuck,omitzero"`   // api.CreateRequest.StuckAfter
	Cgroup    string           `json:"cgroup,omitempty"` // directory; "": none
	Limits    []api.LimitInfo  `json:"limits,omitempty"`
	Slot      int              `json:"slot"`            // of the journal's header
	Exec      bool             `json:"exec,omitempty"`  // a background command
	Pipes     bool             `json:"pipes,omitempty"` // no terminal
	Owner     string           `json:"owner,omitempty"` // of a background command
	Control   *controlRecord   `json:"control,omitempty"`
}

func (r *sessionRecord) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("session record: " + err.Error()) // strings and numbers only
	}
	return b
}

// session is one incarnation of a program: its terminal and everything that the server
// knows about it. An idle session has no goroutine, buffer or timer.
//
// Its parts share mu, the emulator included. mu is held for one read and its emulation
// at most, never while something is waited for. Methods that expect it say so.
type session struct {
	srv    *server
	rec    sessionRecord          // rec.Name is what the keeper has; see name
	called atomic.Pointer[string] // changed under server.mu
	life   life

	mu       sync.Mutex    // guards all below, and life where it says so
	changed  chan struct{} // closed at the next change; nil without a waiter
	tty      tty
	screen   screen
	storage  storage
	activity activity
	input    input
	nudges   nudge.Nudges
	clients  attached.Clients
	output   output
}

// newSession makes the session of a record, with a fresh screen. It takes over fd and j.
func newSession(srv *server, rec sessionRecord, pid int, start uint64, fd int, j *journal.Journal) (*session, error) {
	s := &session{srv: srv, rec: rec}
	s.life = life{s: s, pid: pid, start: start, watch: -1}
	s.tty = tty{s: s, fd: fd}
	s.screen = screen{s: s, cols: rec.Cols, rows: rec.Rows}
	s.storage = storage{s: s, journal: j}
	s.activity = activity{s: s}
	s.input = input{s: s, lock: fifo.New()}
	s.nudges = nudge.New(nudged{s})
	s.clients = attached.New(viewed{s})
	s.output = output{s: s}
	s.called.Store(&rec.Name)
	h := fnv.New32a()
	_, _ = h.Write([]byte(rec.ID))               // never fails
	s.screen.epoch = uint64(h.Sum32() & 0xfffff) // keeps a revision below 2^53 for readers that use floating point
	s.life.born = srv.clock.Now().Add(-max(0, time.Since(time.Unix(0, rec.Started)))).UnixNano()
	s.storage.history = &journal.History{Path: srv.journals.historyPath(rec.ID), Writer: srv.journals.writer}
	t, err := vt.New(s.screen.options())
	if err != nil {
		return nil, err
	}
	s.screen.prepare(t)
	s.screen.term = t
	return s, nil
}

// name returns the session's current name.
func (s *session) name() string { return *s.called.Load() }

// collect removes what is left of an ended session, except for its place in the table.
func (s *session) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life.collect()
	s.storage.remove()
	s.rec.Control.remove()
	s.broadcast()
}

// broadcast wakes everyone who waits for a change, and counts it. mu is held.
func (s *session) broadcast() {
	s.srv.events.noteChange()
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

// info returns the session as the API shows it.
func (s *session) info() api.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := api.SessionInfo{
		ID: s.rec.ID, Name: s.name(), State: api.StateRunning, PID: s.life.pid,
		Command: s.rec.Command, WorkDir: s.rec.WorkDir, Size: api.Size{Cols: s.screen.cols, Rows: s.screen.rows},
		Title: s.screen.term.Title(), Created: time.Unix(0, s.rec.Created), Started: time.Unix(0, s.rec.Started),
		LastInput: s.srv.clock.Wall(unixTime(s.activity.lastIn)), LastOutput: s.srv.clock.Wall(unixTime(s.activity.lastOut)), Attached: s.clients.Len(),
		Kind: s.rec.kind(), Owner: s.rec.Owner, Revision: s.screen.revision(), Output: s.screen.rendered, ScreenLost: s.screen.lost, Recording: s.rec.Recording, Recorded: s.storage.recording.Bytes(),
		ReadyPrefix: s.rec.Ready, Limits: s.rec.Limits, Control: s.rec.Control != nil,
	}
	i.Dropped = s.screen.dropped()
	if s.life.ended() {
		e := *s.life.exit
		i.State, i.PID, i.Exit = api.StateExited, 0, &e
	}
	return i
}

// dropped returns the counts of dropped output; nil if none was. mu is held.
func (sc *screen) dropped() *api.Dropped {
	d := api.Dropped{Dropped: sc.term.Dropped(), HistoryBytes: sc.s.storage.history.LostBytes()}
	d.Replies += sc.s.input.unread
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
