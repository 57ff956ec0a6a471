package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// Times and bounds of background commands.
const (
	execTimeout  = 30 * time.Minute // in the foreground
	execGrace    = 5 * time.Second  // between TERM and KILL
	execHistory  = 2000             // lines of the screen's history; the ring has the output
	execRetry    = time.Second      // when mux.db takes no write
	execRetryMax = time.Minute
	keepExecs    = 64 // sessions of ended commands; their output is kept longer
)

// execFault is called at each step of a command's life and of the delivery of
// its end: recorded, started, ended, finished, leased, injecting, typed,
// delivered. Tests set it to end the server there.
var execFault = func(step string) {}

// execStart is what makes a session a background command.
type execStart struct {
	pipes bool
	owner string
}

// execs are the background commands: each a session, a record in mux.db, and a
// ring of output on disk.
type execs struct {
	srv  *server
	book process.Store
	kick chan struct{}

	mu      sync.Mutex
	procs   map[string]*proc
	open    map[string]bool // events whose delivery is not final
	busy    map[string]bool // owners that are being told
	sweep   *time.Timer
	sweepAt time.Time
	closing bool
}

// proc is one background command. mu guards what is below it; it is taken
// before a session's mu, never after.
type proc struct {
	x       *execs
	id      string
	done    chan struct{} // closed when the end was written down
	started chan struct{} // closed when the process runs, or will not

	mu        sync.Mutex
	rec       process.Record
	unwritten bool     // the end is not on disk yet
	s         *session // nil after it was collected, or when it never was
	out       *process.Ring
	timer     *time.Timer
	idle      *time.Timer
	away      *time.Timer // runs while nobody takes the output of a command in the foreground
	readers   []*reader   // callers that take it
	followers int         // callers in the foreground that wait for the end
}

func newExecs(srv *server) *execs {
	return &execs{
		srv: srv, kick: make(chan struct{}, 1),
		procs: make(map[string]*proc), open: make(map[string]bool), busy: make(map[string]bool),
	}
}

func (x *execs) dir() string { return filepath.Join(x.srv.settings.paths.Dir, "processes") }

func (x *execs) enter(r process.Record) *proc {
	p := &proc{x: x, id: r.ID, rec: r, done: make(chan struct{}), started: make(chan struct{})}
	if r.Status.Ended() {
		close(p.done)
		close(p.started)
	}
	x.mu.Lock()
	x.procs[r.ID] = p
	x.mu.Unlock()
	return p
}

// find returns a command by its id.
func (x *execs) find(id string) (*proc, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.procs[id]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%w: background command %s", api.ErrNotFound, id)
}

// load reads what an earlier server wrote down.
func (x *execs) load() error {
	now := x.srv.clock.Now()
	var all []process.Record
	var ids []string
	err := x.srv.db.View(func(tx *store.Tx) error {
		var err error
		if all, err = x.book.Records(tx); err != nil {
			return err
		}
		open, err := x.book.Open(tx)
		for _, d := range open {
			x.open[d.Event] = true
			if d.State == process.Leased {
				ids = append(ids, d.Event)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("background commands: %w", err)
	}
	if len(ids) > 0 { // a full disk leaves them leased for a while
		x.step(ids, func(d *process.Delivery) error { d.Recover(now); return nil })
	}
	for _, r := range all {
		x.enter(r)
	}
	return nil
}

// reconcile tells what became of commands that ran when the last server ended:
// those that the keeper has go on, the others are lost.
func (x *execs) reconcile() {
	x.mu.Lock()
	all := make([]*proc, 0, len(x.procs))
	for _, p := range x.procs {
		all = append(all, p)
	}
	x.mu.Unlock()
	for _, p := range all {
		if p.ended() {
			continue
		}
		x.srv.mu.Lock()
		s := x.srv.sessions.byID[p.id]
		x.srv.mu.Unlock()
		if s == nil {
			close(p.started)
			x.srv.lifetime.work.Go(func() {
				x.finish(p, process.End{Code: -1, Lost: true, Reason: "its process is gone, and nobody saw how it ended", At: time.Now(), Now: x.srv.clock.Now()})
			})
			continue
		}
		p.run(s)
	}
}

func (p *proc) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// run notes the session of a command and starts its timers.
func (p *proc) run(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.s = s
	p.rec.Started, p.rec.PID = time.Unix(0, s.rec.Started), s.life.pid
	close(p.started)
	p.arm()
	p.awaitReader()
}

// ring is the output of a command that is about to run, or runs; nil for other
// sessions, and where the disk has no room for one.
func (x *execs) ring(rec sessionRecord) *process.Ring {
	if !rec.Exec {
		return nil
	}
	p, err := x.find(rec.ID)
	if err == nil {
		var r *process.Ring
		if r, err = p.ring(); err == nil {
			return r
		}
	}
	slog.Warn("output of a command is not kept", "command", rec.ID, "error", err)
	return nil
}

// ring opens the command's output, in memory where there is no room for a file.
func (p *proc) ring() (*process.Ring, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out != nil {
		return p.out, nil
	}
	err := os.MkdirAll(p.x.dir(), 0o700)
	if err == nil {
		p.out, err = process.OpenRing(filepath.Join(p.x.dir(), p.id))
	}
	if err != nil && !p.rec.Status.Ended() {
		slog.Warn("output of a command is kept in memory", "command", p.id, "error", err)
		p.out, err = process.MemoryRing(err), nil
	}
	return p.out, err
}

// start begins a command. The record is on disk before the process is there.
// existed is true when the key was known; nothing is started then.
func (x *execs) start(r api.ExecRequest) (p *proc, existed bool, err error) {
	rec, create, err := x.plan(&r)
	if err != nil {
		return nil, false, err
	}
	p = x.enter(rec)
	err = x.srv.db.Batch(func(tx *store.Tx) error {
		var err error
		rec, existed, err = x.book.Begin(tx, p.rec)
		return err
	})
	if err != nil || existed {
		x.drop(p.id)
		if err != nil {
			return nil, false, err
		}
		p, err = x.find(rec.ID)
		return p, true, err
	}
	execFault("recorded")
	s, err := x.srv.create(create, &execStart{pipes: !r.PTY, owner: r.Owner})
	if err != nil {
		close(p.started)
		x.drop(p.id)
		return nil, false, errors.Join(err, x.srv.db.Batch(func(tx *store.Tx) error { return x.book.Cancel(tx, p.id) }))
	}
	p.run(s)
	execFault("started")
	x.tell(p)
	return p, false, nil
}

// drop forgets a command in memory, and its output.
func (x *execs) drop(id string) {
	x.mu.Lock()
	p := x.procs[id]
	delete(x.procs, id)
	x.mu.Unlock()
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopTimers()
	if p.out != nil {
		p.out.Close()
		p.out = nil
	}
	if err := os.Remove(filepath.Join(x.dir(), id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		slog.Warn("cannot remove the output of a command", "command", id, "error", err)
	}
}

// plan checks a request and makes the record and the session of it.
func (x *execs) plan(r *api.ExecRequest) (process.Record, api.CreateRequest, error) {
	var none process.Record
	if (r.Command == "") == (len(r.Argv) == 0) {
		return none, api.CreateRequest{}, fmt.Errorf("%w: give a command or an argv", api.ErrRequest)
	}
	if err := process.CheckNotify(r.Notify); err != nil {
		return none, api.CreateRequest{}, fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	if r.Owner != "" {
		if err := api.CheckName(r.Owner); err != nil {
			return none, api.CreateRequest{}, fmt.Errorf("owner: %w", err)
		}
	}
	for _, s := range []string{r.Label, r.CallID, r.Key} {
		if len(s) > api.MaxName {
			return none, api.CreateRequest{}, fmt.Errorf("%w: a label, call id or key of %d bytes, at most %d", api.ErrTooLarge, len(s), api.MaxName)
		}
	}
	now := time.Now()
	id := newID(now)
	c := api.CreateRequest{
		ID: id, Name: "exec-" + id, Command: r.Command, Argv: r.Argv, WorkDir: r.WorkDir, Env: r.Env,
		Cols: r.Cols, Rows: r.Rows, Limits: r.Limits, ScrollbackLines: execHistory,
	}
	rec := process.Record{
		ID: id, Label: r.Label, Command: commandLine(r), WorkDir: r.WorkDir, PTY: r.PTY, Owner: r.Owner, CallID: r.CallID,
		Key: r.Key, Notify: r.Notify, Background: r.Background, Follow: r.Follow, Created: now, Begun: x.srv.clock.Now(), Status: process.Running,
		IdleTimeout: time.Duration(max(0, r.IdleTimeoutMS)) * time.Millisecond,
	}
	switch {
	case r.TimeoutMS > 0:
		rec.Timeout = time.Duration(r.TimeoutMS) * time.Millisecond
	case r.TimeoutMS == 0 && !r.Background:
		rec.Timeout = execTimeout
	}
	return rec, c, nil
}

// close closes every ring. The server has ended all that writes to them.
func (x *execs) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closing = true
	if x.sweep != nil {
		x.sweep.Stop()
	}
	for _, p := range x.procs {
		p.mu.Lock()
		p.stopTimers()
		if p.out != nil {
			p.out.Close()
		}
		p.mu.Unlock()
	}
}

// input is the session that takes input; ErrExited after the end.
func (p *proc) input(ctx context.Context) (*session, error) {
	select {
	case <-p.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.s == nil || p.rec.Status.Ended() {
		return nil, api.ErrExited
	}
	return p.s, nil
}
