package exec

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// fakeHost is a multiplexer without programs: tests simulate them with
// fakeSession, and their owners with fakeOwner.
type fakeHost struct {
	db       *store.DB
	dir      string
	commands *Commands // of the newest server
	done     chan struct{}
	work     *sync.WaitGroup

	mu       sync.Mutex
	ids      int
	sessions map[string]*fakeSession
	owners   map[string]*fakeOwner
	full     bool // the disk
	events   []string
}

// newHost returns a host with a server.
func newHost(t *testing.T) *fakeHost {
	t.Helper()
	db, err := store.Open(filepath.Join(t.TempDir(), "db"), store.Schema{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	h := &fakeHost{db: db, dir: t.TempDir(), sessions: map[string]*fakeSession{}, owners: map[string]*fakeOwner{}}
	h.start(t)
	t.Cleanup(func() {
		h.stop()
		db.Close()
	})
	return h
}

// start starts a server on what the last one left.
func (h *fakeHost) start(t *testing.T) {
	t.Helper()
	h.done, h.work = make(chan struct{}), new(sync.WaitGroup)
	h.commands = New(Options{
		Host: h, Dir: h.dir, Now: time.Now, NewID: h.newID, Go: h.work.Go, Done: h.done,
	})
	if err := h.commands.Load(); err != nil {
		t.Fatal(err)
	}
	h.commands.Reconcile()
	h.work.Go(h.commands.Run)
}

func (h *fakeHost) stop() {
	close(h.done)
	h.work.Wait()
	h.commands.Close()
}

func (h *fakeHost) newID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ids++
	return fmt.Sprintf("c%d", h.ids)
}

var errFull = errors.New("no space left")

func (h *fakeHost) Tx(f func(*store.Tx) error) error {
	h.mu.Lock()
	full := h.full
	h.mu.Unlock()
	if full {
		return errFull
	}
	return h.db.Update(f)
}

func (h *fakeHost) View(f func(*store.Tx) error) error { return h.db.View(f) }

func (h *fakeHost) setFull(full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.full = full
}

func (h *fakeHost) Create(r api.CreateRequest, _ bool, _ string) (Session, error) {
	out, err := h.commands.Output(r.ID)
	if err != nil {
		return nil, err
	}
	s := &fakeSession{h: h, id: r.ID, out: out, started: time.Now()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[r.ID] = s
	return s, nil
}

func (h *fakeHost) Find(id string) (Session, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.sessions[id]
	return s, ok
}

func (h *fakeHost) Forget(ids ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		delete(h.sessions, id)
	}
}

func (h *fakeHost) Owner(name string) (Owner, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o, ok := h.owners[name]
	return o, ok
}

func (h *fakeHost) OwnerByID(id string) (Owner, bool) {
	return h.Owner(strings.TrimPrefix(id, "session-"))
}

func (h *fakeHost) Publish(e api.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e.Type)
}

func (h *fakeHost) ShuttingDown() bool { return false }

// published returns the types of the events so far.
func (h *fakeHost) published() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// enter starts the session of an owner.
func (h *fakeHost) enter(o *fakeOwner) {
	h.mu.Lock()
	h.owners[o.name] = o
	h.mu.Unlock()
	h.commands.OwnersChanged()
}

// run starts a command and returns it with its session.
func (h *fakeHost) run(t *testing.T, r api.ExecRequest) (*Command, *fakeSession) {
	t.Helper()
	r.Command = "x"
	cmd, existed, err := h.commands.Start(r)
	if err != nil || existed {
		t.Fatal(existed, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmd, h.sessions[cmd.ID()]
}

// delivery returns the state of the delivery of a command's end.
func (h *fakeHost) delivery(t *testing.T, cmd *Command) process.Delivery {
	t.Helper()
	synctest.Wait()
	var d process.Delivery
	err := h.db.View(func(tx *store.Tx) (err error) {
		d, _, err = process.Store{}.Delivery(tx, eventID(cmd.ID()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// fakeSession is the session of a command whose program is the test.
type fakeSession struct {
	h       *fakeHost
	id      string
	out     *Output
	started time.Time

	mu      sync.Mutex
	total   uint64
	resumed int
	killed  time.Duration // grace of End
	changed chan struct{}
}

func (s *fakeSession) Process() (int, time.Time)          { return 1, s.started }
func (s *fakeSession) Send(context.Context, []byte) error { return nil }
func (s *fakeSession) CloseInput(context.Context) error   { return nil }
func (s *fakeSession) Silent() (silent time.Duration, _ bool) {
	return time.Since(s.started), s.out.Full(false)
}

func (s *fakeSession) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

func (s *fakeSession) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumed++
}

// resumes counts the calls of Resume.
func (s *fakeSession) resumes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resumed
}

// End kills the program, which has no children.
func (s *fakeSession) End(_ context.Context, grace time.Duration) error {
	s.mu.Lock()
	s.killed = grace
	s.mu.Unlock()
	go s.exit(137, "SIGKILL")
	return nil
}

// write writes n bytes, or fewer if the output is full.
func (s *fakeSession) write(n uint64) (written uint64) {
	const chunk = 64 << 10
	for written < n && !s.out.Full(false) {
		p := make([]byte, min(chunk, n-written))
		s.out.Write(p, s.total)
		s.total += uint64(len(p))
		written += uint64(len(p))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return written
}

func (s *fakeSession) exit(code int, signal string) {
	s.h.commands.Ended(s.id, api.Exit{Code: code, Signal: signal, Reason: api.ReasonExited, Time: time.Now()})
}

// fakeOwner is a composer on the last line of a screen. result is the outcome
// of its next messages.
type fakeOwner struct {
	name   string
	result delivery.Result

	mu       sync.Mutex
	typed    []string
	outcomes map[string]delivery.Outcome // by message id
	history  string
}

func (o *fakeOwner) ID() string                      { return "session-" + o.name }
func (o *fakeOwner) AwaitIdle(context.Context) error { return nil }

func (o *fakeOwner) Screen(context.Context, int) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.history + "> ", nil
}

func (o *fakeOwner) CursorLine(context.Context) (string, bool, error) { return "> ", true, nil }
func (o *fakeOwner) Press(context.Context, string) error              { return nil }

func (o *fakeOwner) Type(_ context.Context, id, text string) (delivery.Outcome, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if out, known := o.outcomes[id]; known {
		return out, nil
	}
	out := delivery.Outcome{Result: o.result, Detail: "said the test"}
	o.typed = append(o.typed, text)
	if o.outcomes == nil {
		o.outcomes = map[string]delivery.Outcome{}
	}
	o.outcomes[id] = out
	return out, nil
}

func (o *fakeOwner) Outcome(_ context.Context, id string) (delivery.Outcome, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out, known := o.outcomes[id]
	return out, known, nil
}

// messages returns the messages typed so far.
func (o *fakeOwner) messages() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.typed)
}
