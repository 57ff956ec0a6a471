package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/client"
)

// Exit statuses of gc exec, besides those of the command.
const (
	exitRunning = 75  // still running in the background (EX_TEMPFAIL of sysexits.h)
	exitOwn     = 125 // gc itself failed
)

type execOptions struct {
	background bool
	yield      time.Duration
	timeout    time.Duration
	limited    bool // --timeout was given
	idle       time.Duration
	pty        bool
	size       string
	cwd        string
	env        []string
	label      string
	owner      string
	owned      bool // --owner was given
	callID     string
	notify     string
	key        string
	json       bool
	argv       []string
}

func newExecCmd(a *app) *cobra.Command {
	var o execOptions
	cmd := &cobra.Command{
		Use:               "exec [flags] -- COMMAND...",
		Short:             "Run a command, also in the background, and report its end",
		Args:              func(cmd *cobra.Command, args []string) error { return ownFailure(cli.Between(1, -1)(cmd, args)) },
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.argv, o.limited, o.owned = args, cmd.Flags().Changed("timeout"), cmd.Flags().Changed("owner")
			return ownFailure(runExec(cmd.Context(), a, o))
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Fail(exitOwn, cmd.CommandPath()+" --help", "%v", err)
	})
	addHost(a, cmd)
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.BoolVar(&o.background, "bg", false, "print the id and return at once")
	f.DurationVar(&o.yield, "yield", 0, "continue in the background after this long")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "end the command after this long; 0: never (with --bg the default is never)")
	f.DurationVar(&o.idle, "idle-timeout", 0, "end the command after this long without output")
	f.BoolVar(&o.pty, "pty", false, "run the command on a terminal instead of pipes")
	f.StringVar(&o.size, "size", "", "set the size of the terminal to `COLSxROWS` (default 120x40)")
	f.StringVar(&o.cwd, "cwd", "", "start the command in this `DIR` (default: the current one)")
	f.StringArrayVar(&o.env, "env", nil, "set a variable `K=V` for the command; K= unsets it")
	f.StringVar(&o.label, "label", "", "describe the command to people as `NAME`")
	f.StringVar(&o.owner, "owner", os.Getenv("GC_SESSION_NAME"), "tell this `SESSION` when the command ends (default: GC_SESSION_NAME)")
	f.StringVar(&o.callID, "call-id", "", "include this `ID` in the message about the end")
	f.StringVar(&o.notify, "notify", process.NotifyAuto, "tell the owner `WHEN`: auto, always, failure or never")
	f.StringVar(&o.key, "key", "", "a second call of the owner with the same `KEY` starts nothing")
	f.BoolVar(&o.json, "json", false, "print the result as JSON instead of the output")
	_ = cmd.RegisterFlagCompletionFunc("notify", cobra.FixedCompletions(
		[]string{process.NotifyAuto, process.NotifyAlways, process.NotifyFailure, process.NotifyNever}, cobra.ShellCompDirectiveNoFileComp))
	cli.Describe(cmd, `Runs a command in a new session and passes input, output and exit status through.
Several words are a program and its arguments; a single word is a shell command line.
The command inherits your whole environment.

With --bg, or after --yield, it prints an id and the command continues in the
background. When the command ends, the owner's session gets one message with the end of
the output, once it is idle, unless the owner has already seen the end with gc process
poll or wait. A command survives the death of its caller, its owner and the server.
gc process lists, reads, feeds and ends background commands.`, `
		gc exec -- make test
		gc exec --yield 10s -- ./slow-build.sh
		id=$(gc exec --bg --label deploy -- ./deploy.sh) || true
		gc exec --timeout 5m --json -- 'make && make test'`,
		cli.Statuses{cli.ExitOK: "the command's exit status, passed through", cli.ExitFailure: "the command's exit status, as are all others", cli.ExitTimeout: "timed out",
			exitOwn: "gc itself failed: the command may not have run, or output is lost", cli.ExitSignal: "plus n: ended by signal n", exitRunning: "still running; its id is on standard output"})
	return cmd
}

// ownFailure gives an error of gc itself an exit status that is not mistaken for
// the command's.
func ownFailure(err error) error {
	var q cli.Quiet
	if err == nil || errors.As(err, &q) || errors.As(err, new(*attach.SignalError)) {
		return err
	}
	_, hint := cli.Explain(err)
	return cli.Fail(exitOwn, hint, "%w", err)
}

func runExec(ctx context.Context, a *app, o execOptions) error {
	h, err := a.remote()
	if err != nil {
		return err
	}
	r, err := o.request(ctx, a, h)
	if err != nil {
		return err
	}
	client, err := ensureMux(ctx, h)
	if err != nil {
		return err
	}
	defer client.Close()
	if o.background {
		res, err := client.Exec(ctx, r)
		if err != nil {
			return err
		}
		return a.leftRunning(res, o.json)
	}
	fg := &foreground{app: a, client: client, options: o, caller: r.Owner}
	return fg.run(ctx, r)
}

// ensureMux connects to the server, on h or here, and starts it if necessary.
func ensureMux(ctx context.Context, h *client.Host) (*client.Client, error) {
	if h != nil {
		return h.Ensure(ctx)
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	return client.Ensure(ctx, paths, version)
}

// request is the request to the server, on h or here.
func (o *execOptions) request(ctx context.Context, a *app, h *client.Host) (api.ExecRequest, error) {
	r := api.ExecRequest{
		Background: o.background, PTY: o.pty, IdleTimeoutMS: o.idle.Milliseconds(),
		Label: o.label, Owner: o.owner, CallID: o.callID, Key: o.key, Notify: o.notify,
	}
	if len(o.argv) == 1 {
		r.Command = o.argv[0]
	} else {
		r.Argv = o.argv
	}
	switch {
	case o.timeout < 0 || o.yield < 0 || o.idle < 0:
		return r, cli.Fail(exitOwn, "such as --timeout 90s", "--timeout, --yield and --idle-timeout cannot be negative")
	case o.limited && o.timeout == 0:
		r.TimeoutMS = -1
	case o.limited || !o.background:
		r.TimeoutMS = max(1, o.timeout.Milliseconds())
	}
	err := o.place(ctx, h, &r)
	if err != nil {
		return r, err
	}
	for _, kv := range o.env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return r, cli.Fail(exitOwn, "such as --env LANG=C", "--env %s: must be K=V", kv)
		}
		r.Env = withoutVar(r.Env, k)
		if v != "" {
			r.Env = append(r.Env, kv)
		}
	}
	if o.size != "" {
		if r.Cols, r.Rows, err = parseSize(o.size); err != nil {
			return r, err
		}
	}
	return r, o.readInput(a, &r)
}

// place sets directory and environment: the caller's, or on another machine those
// of a login there.
func (o *execOptions) place(ctx context.Context, h *client.Host, r *api.ExecRequest) (err error) {
	if h == nil {
		r.Env = os.Environ()
		r.WorkDir, err = filepath.Abs(o.cwd)
		return err
	}
	if o.cwd != "" && !filepath.IsAbs(o.cwd) {
		return cli.Fail(exitOwn, "the directory is on the other machine", "--cwd %s: must be an absolute path with --host", o.cwd)
	}
	if !o.owned { // GC_SESSION_NAME is a session of this machine
		r.Owner = ""
	}
	r.WorkDir = o.cwd
	r.Env, err = h.Environ(ctx)
	return err
}

// readInput puts standard input into the request if reading it cannot block: a
// regular file or, in the foreground, a small file (not of size 0, as files in
// /proc are) or the null device.
func (o *execOptions) readInput(a *app, r *api.ExecRequest) error {
	f, ok := a.In.(*os.File)
	if !ok {
		return nil
	}
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil
	case st.Mode().IsRegular() && (o.background || st.Size() > 0 && st.Size() <= smallStdin):
	case !o.background && isNull(st):
	default:
		return nil
	}
	if r.Stdin, err = io.ReadAll(io.LimitReader(f, maxExecStdin+1)); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	if r.EOF = true; len(r.Stdin) > maxExecStdin {
		return cli.Fail(exitOwn, "gc exec --bg -- 'COMMAND < FILE'", "standard input has more than %d bytes", maxExecStdin)
	}
	return nil
}

// isNull reports whether a file is the null device.
func isNull(st os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(st, null)
}

// The largest standard input sent with the request: in the background, and in the
// foreground.
const (
	maxExecStdin = 12 << 20
	smallStdin   = 64 << 10
)

func withoutVar(env []string, key string) []string {
	out := env[:0:0]
	for _, kv := range env {
		if !strings.HasPrefix(kv, key+"=") {
			out = append(out, kv)
		}
	}
	return out
}

// leftRunning prints that the command is still running.
func (a *app) leftRunning(res api.ExecResult, asJSON bool) error {
	if asJSON {
		if err := a.PrintJSON(res); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(a.Out, res.ID); err != nil {
		return err
	}
	return cli.Quiet(exitRunning)
}

// foreground is a command in the foreground.
type foreground struct {
	*app
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
	err := endOf(f.app, res)
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
func endOf(a *app, res api.ExecResult) error {
	switch {
	case res.Status == process.TimedOut:
		fmt.Fprintf(a.Err, "%s: timed out (%s) after %s\n", cli.Program, display.Line(res.Reason), process.Took(time.Duration(res.DurationMS)*time.Millisecond))
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
