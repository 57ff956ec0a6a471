package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// Times and bounds of background commands.
const (
	foregroundTimeout = 30 * time.Minute // of a command in the foreground that has no other
	DefaultGrace      = 5 * time.Second  // between TERM and KILL
	historyLines      = 2000             // of the screen; the ring has the output
	saveRetry         = time.Second      // after a failed write to mux.db
	saveRetryMax      = time.Minute
)

// Options are what [New] needs.
type Options struct {
	Host Host
	Dir  string           // of the files with output
	Now  func() time.Time // the clock of all times that are compared later
	// NewID returns the id of a new session; ids sort by age.
	NewID func() string
	// Go runs f on a goroutine that the server waits for at its end.
	Go func(f func())
	// Done is closed when the server ends.
	Done <-chan struct{}
	// Fault is called at each step of a command's life and of the delivery of its
	// end: recorded, started, ended, finished, leased, injecting, typed, delivered.
	// Tests end the server there; nil does nothing.
	Fault func(step string)
}

// Commands are the background commands of one server: each has a session, a record
// in the database, and a ring of output on disk. It is safe for concurrent use.
type Commands struct {
	Options
	store       process.Store
	completions *completions
	collector   collector

	mu   sync.Mutex
	byID map[string]*Command
}

// New returns an empty set; [Commands.Load] adds the commands of an earlier
// server.
func New(o Options) *Commands {
	if o.Fault == nil {
		o.Fault = func(string) {}
	}
	c := &Commands{Options: o, byID: make(map[string]*Command)}
	c.completions = newCompletions(c)
	c.collector.commands = c
	return c
}

func (c *Commands) since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *Commands) add(r process.Record) *Command {
	cmd := &Command{c: c, id: r.ID, rec: r, done: make(chan struct{}), started: make(chan struct{})}
	cmd.timers.cmd, cmd.readers.cmd = cmd, cmd
	if r.Status.Ended() {
		close(cmd.done)
		close(cmd.started)
	}
	c.mu.Lock()
	c.byID[r.ID] = cmd
	c.mu.Unlock()
	return cmd
}

// Find returns a command by its id; ErrNotFound if there is none.
func (c *Commands) Find(id string) (*Command, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cmd := c.byID[id]; cmd != nil {
		return cmd, nil
	}
	return nil, fmt.Errorf("%w: background command %s", api.ErrNotFound, id)
}

// all returns every command, oldest first.
func (c *Commands) all() []*Command {
	c.mu.Lock()
	all := make([]*Command, 0, len(c.byID))
	for _, cmd := range c.byID {
		all = append(all, cmd)
	}
	c.mu.Unlock()
	slices.SortFunc(all, func(a, b *Command) int { return strings.Compare(a.id, b.id) })
	return all
}

// List returns the commands of an owner ("" is everyone), oldest first, without
// output; the ended ones too if all is set.
func (c *Commands) List(owner string, all bool) []api.ExecResult {
	out := []api.ExecResult{}
	for _, cmd := range c.all() {
		res := cmd.Result()
		if (owner == "" || owner == res.Owner) && (all || !res.Status.Ended()) {
			res.Tail = ""
			out = append(out, res)
		}
	}
	return out
}

// Load reads the records of an earlier server. Call it first.
func (c *Commands) Load() error {
	var all []process.Record
	err := c.Host.View(func(tx *store.Tx) (err error) {
		all, err = c.store.Records(tx)
		return err
	})
	if err == nil {
		err = c.completions.load()
	}
	if err != nil {
		return fmt.Errorf("background commands: %w", err)
	}
	for _, r := range all {
		c.add(r)
	}
	return nil
}

// Reconcile resumes the commands that ran when the last server ended: those
// whose session the host found continue, the others are lost.
func (c *Commands) Reconcile() {
	for _, cmd := range c.all() {
		if cmd.ended() {
			continue
		}
		if s, ok := c.Host.Find(cmd.id); ok {
			cmd.attach(s)
			continue
		}
		close(cmd.started)
		c.Go(func() {
			cmd.finish(process.End{Code: -1, Lost: true, Reason: "its process is gone and its exit status is unknown", At: time.Now(), Now: c.Now()})
		})
	}
}

// Run delivers ends to owners and removes old commands until the server ends.
func (c *Commands) Run() {
	c.collector.soon()
	c.completions.run()
}

// OwnersChanged makes [Commands.Run] look at the owners again: a session has started
// or ended.
func (c *Commands) OwnersChanged() { c.completions.wake() }

// Close closes the output files. Everything that writes them must have ended.
func (c *Commands) Close() {
	c.collector.close()
	for _, cmd := range c.all() {
		cmd.close()
	}
}

// Start starts a command. Its record is on disk before its process exists. existed
// is true if the owner has a command with the same key: that is returned, and nothing
// is started. ErrLimit, ErrRequest, ErrTooLarge, and the errors of Host.Create.
func (c *Commands) Start(r api.ExecRequest) (cmd *Command, existed bool, err error) {
	rec, create, err := c.plan(&r)
	if err != nil {
		return nil, false, err
	}
	cmd = c.add(rec)
	planned := rec
	err = c.Host.Tx(func(tx *store.Tx) (err error) {
		rec, existed, err = c.store.Begin(tx, planned)
		return err
	})
	if err != nil || existed {
		c.drop(cmd.id)
		if err != nil {
			return nil, false, err
		}
		cmd, err = c.Find(rec.ID)
		return cmd, true, err
	}
	c.Fault("recorded")
	s, err := c.Host.Create(create, r.PTY, r.Owner)
	if err != nil {
		close(cmd.started)
		c.drop(cmd.id)
		return nil, false, errors.Join(err, c.Host.Tx(func(tx *store.Tx) error { return c.store.Cancel(tx, cmd.id) }))
	}
	cmd.attach(s)
	c.Fault("started")
	cmd.publish()
	cmd.feed(r)
	return cmd, false, nil
}

// drop forgets a command in memory, and its output.
func (c *Commands) drop(id string) {
	c.mu.Lock()
	cmd := c.byID[id]
	delete(c.byID, id)
	c.mu.Unlock()
	if cmd == nil {
		return
	}
	cmd.close()
	if err := os.Remove(filepath.Join(c.Dir, id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		slog.Warn("cannot remove the output of a command", "command", id, "error", err)
	}
}

// plan checks a request and makes the record of the command and the request for its
// session.
func (c *Commands) plan(r *api.ExecRequest) (process.Record, api.CreateRequest, error) {
	if err := check(r); err != nil {
		return process.Record{}, api.CreateRequest{}, err
	}
	id := c.NewID()
	create := api.CreateRequest{
		ID: id, Name: sessionName(id), Command: r.Command, Argv: r.Argv, WorkDir: r.WorkDir, Env: r.Env,
		Cols: r.Cols, Rows: r.Rows, Limits: r.Limits, ScrollbackLines: historyLines,
	}
	rec := process.Record{
		ID: id, Label: r.Label, Command: commandLine(r), WorkDir: r.WorkDir, PTY: r.PTY, Owner: r.Owner, CallID: r.CallID,
		Key: r.Key, Notify: r.Notify, Background: r.Background, Follow: r.Follow, Created: time.Now(), MonoStart: c.Now(), Status: process.Running,
		IdleTimeout: time.Duration(max(0, r.IdleTimeout)),
	}
	switch {
	case r.Timeout > 0:
		rec.Timeout = time.Duration(r.Timeout)
	case r.Timeout == 0 && !r.Background:
		rec.Timeout = foregroundTimeout
	}
	return rec, create, nil
}

func sessionName(id string) string { return "exec-" + id }

func commandLine(r *api.ExecRequest) string {
	if r.Command != "" {
		return r.Command
	}
	return strings.Join(r.Argv, " ")
}

func check(r *api.ExecRequest) error {
	if (r.Command == "") == (len(r.Argv) == 0) {
		return fmt.Errorf("%w: give a command or an argv", api.ErrRequest)
	}
	if err := process.CheckNotify(r.Notify); err != nil {
		return fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	if r.Owner != "" {
		if err := api.CheckName(r.Owner); err != nil {
			return fmt.Errorf("owner: %w", err)
		}
	}
	for _, s := range []string{r.Label, r.CallID, r.Key} {
		if len(s) > api.MaxName {
			return fmt.Errorf("%w: a label, call id or key of %d bytes, at most %d", api.ErrTooLarge, len(s), api.MaxName)
		}
	}
	return nil
}

// Remove deletes ended commands: their records in one transaction, their sessions,
// their output. ErrBusy for one that runs.
func (c *Commands) Remove(ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	err := c.Host.Tx(func(tx *store.Tx) error {
		for _, id := range ids {
			err := c.store.Remove(tx, id)
			if err != nil && (len(ids) == 1 || !errors.Is(err, process.ErrNotFound)) { // removed meanwhile
				return err
			}
		}
		return nil
	})
	if errors.Is(err, process.ErrRunning) {
		return fmt.Errorf("%w: %w", api.ErrBusy, err)
	}
	if err != nil {
		return err
	}
	c.Host.Forget(ids...)
	for _, id := range ids {
		c.completions.forget(eventID(id))
		c.drop(id)
	}
	return nil
}

// eventID is the id of the event of a command's end.
func eventID(id string) string { return (&process.Record{ID: id}).EventID() }

// untilEnd returns a context that ends with the command or the server.
func (cmd *Command) untilEnd() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-cmd.done:
		case <-cmd.c.Done:
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, cancel
}
