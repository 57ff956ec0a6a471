package background

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/client"
	"golang.org/x/sys/unix"
)

// foreground is a command in the foreground.
type foreground struct {
	*commands
	client  *client.Client
	options execOptions
	id      string
	caller  string
	missing uint64 // bytes of output that the server did not keep
	unread  bool   // the reader of standard output has gone
	signals int
	last    api.ExecResult
}

// errUnwritten means that standard output cannot be written.
var errUnwritten = errors.New("cannot write standard output")

// run passes input, output and signals on until the command ends or --yield is
// over.
func (f *foreground) run(ctx context.Context, r api.ExecRequest) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	started := make(chan struct{})
	go f.forward(ctx, signals, started, cancel)
	pipe := make(chan os.Signal, 1) // so that a write fails instead
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	limited, yield := context.WithCancel(ctx)
	defer yield()
	err := f.client.ExecFollow(limited, r, func(res api.ExecResult) error {
		if f.id == "" {
			f.id = res.ID
			if f.options.yield > 0 {
				time.AfterFunc(f.options.yield, yield)
			}
			close(started)
			if !r.EOF {
				go f.feed(ctx)
			}
		}
		return f.take(ctx, res)
	})
	switch {
	case errors.Is(err, errUnwritten), err != nil && f.id != "" && ctx.Err() == nil && limited.Err() != nil:
		return f.leave(ctx)
	case errors.Is(err, context.Canceled):
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	return f.end(ctx, f.last)
}

// take passes output on.
func (f *foreground) take(ctx context.Context, res api.ExecResult) error {
	f.last = res
	f.missing += res.Missing
	if f.options.json {
		return nil
	}
	if len(res.Data) == 0 {
		return nil
	}
	if f.unread {
		return nil
	}
	_, err := f.Out.Write(res.Data)
	switch {
	case errors.Is(err, unix.EPIPE): // as if the command itself had written
		f.unread = true
		if !res.Status.Ended() {
			_ = f.client.ProcessSignal(ctx, f.id, "SIGPIPE")
		}
	case err != nil:
		return errUnwritten
	}
	return nil
}

// leave lets the command continue in the background, if it is still running.
func (f *foreground) leave(ctx context.Context) error {
	res, err := f.client.ProcessBackground(ctx, f.id)
	if err != nil {
		return err
	}
	if res.Status.Ended() {
		return f.end(ctx, res)
	}
	if f.options.json { // with the output so far
		if res, err = f.all(ctx); err != nil {
			return err
		}
	}
	if f.missing > 0 {
		f.Warn("lost %d bytes of output", f.missing)
	}
	return f.leftRunning(res, f.options.json)
}

func (f *foreground) end(ctx context.Context, res api.ExecResult) error {
	if f.options.json {
		res, err := f.all(ctx)
		if err != nil {
			return err
		}
		if err := f.PrintJSON(res); err != nil {
			return err
		}
	}
	err := endOf(f.commands, res)
	if f.missing == 0 {
		return err
	}
	code := 0
	if q := cli.Quiet(0); errors.As(err, &q) {
		code = int(q)
	}
	return cli.Fail(exitOwn, "free some space on the disk of the mux state directory", "lost %d bytes of output; the command's exit status is %d", f.missing, code)
}

// all returns the command with all its output.
func (f *foreground) all(ctx context.Context) (api.ExecResult, error) {
	start := uint64(0)
	res, err := f.client.ProcessPoll(ctx, f.id, api.PollRequest{Cursor: &start, Caller: f.caller})
	res.Missing = max(res.Missing, f.missing)
	return res, err
}

// endOf is the exit status for an ended command.
func endOf(a *commands, res api.ExecResult) error {
	switch {
	case res.Status == process.TimedOut:
		fmt.Fprintf(a.Err, "%s: timed out (%s) after %s\n", cli.Program, display.Line(res.Reason), process.Took(time.Duration(res.Duration)))
		return cli.Quiet(cli.ExitTimeout)
	case res.Status == process.Lost || res.ExitCode == nil:
		return cli.Fail(exitOwn, "gc process log "+res.ID, "the command is lost: %s", res.Reason)
	case *res.ExitCode == 0 && res.Status == process.Completed:
		return nil
	}
	if *res.ExitCode == 0 { // it was killed on request, and exited with 0
		return cli.Quiet(cli.ExitSignal + int(unix.SIGTERM))
	}
	return cli.Quiet(*res.ExitCode)
}

// signalTime is the time limit for passing a signal to the command.
const signalTime = time.Second

// forward passes signals on once the command has started; the third one kills the
// command. If a signal cannot be passed on, it ends gc itself by cancel.
func (f *foreground) forward(ctx context.Context, signals <-chan os.Signal, started <-chan struct{}, cancel context.CancelCauseFunc) {
	for {
		var sig os.Signal
		select {
		case sig = <-signals:
		case <-ctx.Done():
			return
		}
		f.signals++
		limit := signalTime
		if f.signals > 2 { // killing the tree takes longer
			limit = alive.Limit
		}
		limited, stop := context.WithTimeout(ctx, limit)
		err := f.pass(limited, sig, started)
		late := limited.Err()
		stop()
		if err != nil && late != nil || errors.Is(err, api.ErrUnreachable) {
			cancel(&attach.SignalError{Signal: sig})
			return
		}
	}
}

// pass sends the command a signal.
func (f *foreground) pass(ctx context.Context, sig os.Signal, started <-chan struct{}) error {
	select {
	case <-started:
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.signals > 2 {
		_, err := f.client.ProcessKill(ctx, f.id, f.caller, time.Second)
		return err
	}
	n, _ := sig.(syscall.Signal)
	return f.client.ProcessSignal(ctx, f.id, unix.SignalName(n))
}

// feed passes standard input on as fast as the command reads it.
func (f *foreground) feed(ctx context.Context) {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.In.Read(buf)
		if n > 0 && f.client.ProcessWrite(ctx, f.id, api.WriteRequest{Data: buf[:n]}) != nil {
			return
		}
		if err != nil {
			_ = f.client.ProcessWrite(ctx, f.id, api.WriteRequest{EOF: true})
			return
		}
	}
}
