package exec

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// Command is one background command. mu guards what is below it; a session's locks
// are taken after it, never before.
type Command struct {
	c       *Commands
	id      string
	done    chan struct{} // closed when the end is saved, or known while the disk is full
	started chan struct{} // closed when the process runs or failed to start

	mu      sync.Mutex
	rec     process.Record
	unsaved bool    // the end is not on disk yet
	session Session // nil before the start and for a command of an earlier server that has ended
	out     *Output // nil until it is needed
	timers  timers
	readers readers
	waiting int // callers that wait for the end
}

func (cmd *Command) record() process.Record {
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	return cmd.rec
}

// ID is the id of the command and of its session.
func (cmd *Command) ID() string { return cmd.id }

func (cmd *Command) ended() bool {
	select {
	case <-cmd.done:
		return true
	default:
		return false
	}
}

// attach sets the session of a command and starts the timers.
func (cmd *Command) attach(s Session) {
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	cmd.session = s
	cmd.rec.PID, cmd.rec.Started = s.Process()
	close(cmd.started)
	cmd.timers.start()
	cmd.readers.await()
}

// Input returns the session if it takes input; ErrExited after the end.
func (cmd *Command) Input(ctx context.Context) (Session, error) {
	select {
	case <-cmd.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	if cmd.session == nil || cmd.rec.Status.Ended() {
		return nil, api.ErrExited
	}
	return cmd.session, nil
}

// Write gives the command input. It blocks while the command does not read, until ctx
// ends. ErrExited after the end.
func (cmd *Command) Write(ctx context.Context, in api.WriteRequest) error {
	s, err := cmd.Input(ctx)
	if err != nil {
		return err
	}
	data := in.Data
	if in.Submit {
		end := byte('\n')
		if cmd.record().PTY {
			end = '\r'
		}
		data = append(slices.Clone(data), end)
	}
	if err := s.Send(ctx, data); err != nil {
		return err
	}
	if in.EOF {
		return s.CloseInput(ctx)
	}
	return nil
}

// feed gives a new command its input, as fast as it reads.
func (cmd *Command) feed(r api.ExecRequest) {
	if len(r.Stdin) == 0 && !r.EOF {
		return
	}
	cmd.c.Go(func() {
		ctx, cancel := cmd.untilEnd()
		defer cancel()
		err := cmd.Write(ctx, api.WriteRequest{Data: r.Stdin, EOF: r.EOF})
		if err != nil && !errors.Is(err, api.ErrExited) && ctx.Err() == nil {
			slog.Warn("cannot write the input of a command", "command", cmd.id, "error", err)
		}
	})
}

// Answer is the reply to the request that started the command, or found it by its
// key. In the foreground it waits for the end, or for the request's yield.
func (cmd *Command) Answer(ctx context.Context, r *api.ExecRequest) (api.ExecResult, error) {
	if !r.Background && !cmd.ended() {
		if err := cmd.foreground(ctx, time.Duration(r.Yield)); err != nil {
			return api.ExecResult{}, err
		}
	}
	res := cmd.Result()
	if err := cmd.fill(&res, 0, 0, false); err != nil {
		return api.ExecResult{}, err
	}
	return res, cmd.see(r.Owner, &res)
}

// foreground waits for the end, at most yield (0: no limit). After that, or if
// the caller leaves, the command moves to the background.
func (cmd *Command) foreground(ctx context.Context, yield time.Duration) error {
	leave := cmd.follow()
	var late <-chan time.Time
	if yield > 0 {
		t := time.NewTimer(yield)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-cmd.done:
		leave()
		return nil
	case <-late:
		leave()
		return cmd.Background()
	case <-ctx.Done():
		leave()
		return errors.Join(ctx.Err(), cmd.Background())
	}
}

// Background lets a foreground command continue without its caller: its timeout
// lapses, and its end is delivered to its owner.
func (cmd *Command) Background() error {
	err := cmd.change(func(r *process.Record) { r.Background, r.Timeout = true, 0 })
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	cmd.timers.stopTimeout()
	cmd.readers.release()
	return err
}

// change changes the record of a running command, durably.
func (cmd *Command) change(f func(*process.Record)) error {
	err := cmd.c.Host.Tx(func(tx *store.Tx) error {
		_, err := cmd.c.store.Update(tx, cmd.id, func(r *process.Record) {
			if !r.Status.Ended() {
				f(r)
			}
		})
		return err
	})
	if err != nil {
		return err
	}
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	if !cmd.rec.Status.Ended() {
		f(&cmd.rec)
	}
	return nil
}

// Wait waits for the end, at most limit (0: no limit), and returns what is
// known then. The error is ctx's.
func (cmd *Command) Wait(ctx context.Context, caller string, limit time.Duration) (api.ExecResult, error) {
	limited := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	leave := cmd.follow()
	err := cmd.await(limited)
	leave()
	if err != nil && ctx.Err() != nil {
		return api.ExecResult{}, err
	}
	res := cmd.Result()
	return res, cmd.see(caller, &res)
}

// await waits until the end is saved.
func (cmd *Command) await(ctx context.Context) error {
	select {
	case <-cmd.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// follow counts a caller that waits for the end, until the returned function is
// called. Meanwhile the end is not delivered: the caller learns of it anyway.
func (cmd *Command) follow() (leave func()) {
	add := func(n int) {
		cmd.mu.Lock()
		cmd.waiting += n
		cmd.mu.Unlock()
	}
	add(1)
	return func() {
		add(-1)
		cmd.c.completions.wake()
	}
}

func (cmd *Command) watched() bool {
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	return cmd.waiting > 0
}

// Kill ends the process tree and returns when the end is saved. That counts as
// seen by caller, unless "".
func (cmd *Command) Kill(ctx context.Context, caller string, grace time.Duration) (api.ExecResult, error) {
	if err := cmd.end(ctx, process.IntentKill, grace); err != nil {
		return api.ExecResult{}, err
	}
	res := cmd.Result()
	return res, cmd.see(caller, &res)
}

// output opens the output, in memory if there is no space for a file.
func (cmd *Command) output() (*Output, error) {
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	if cmd.out != nil {
		return cmd.out, nil
	}
	var ring *process.Ring
	err := os.MkdirAll(cmd.c.Dir, 0o700)
	if err == nil {
		ring, err = process.OpenRing(filepath.Join(cmd.c.Dir, cmd.id))
	}
	if err != nil && !cmd.rec.Status.Ended() {
		slog.Warn("output of a command is kept in memory", "command", cmd.id, "error", err)
		ring, err = process.MemoryRing(err), nil
	}
	if err != nil {
		return nil, err
	}
	cmd.out = NewOutput(ring)
	return cmd.out, nil
}

// close stops the timers and closes the output.
func (cmd *Command) close() {
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	cmd.timers.stop()
	cmd.readers.stop()
	if cmd.out != nil {
		cmd.out.ring.Close()
		cmd.out = nil
	}
}
