package background

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
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

// NewExec returns gc exec.
func NewExec(c *cli.Console, m *host.Mux) *cobra.Command {
	a := &commands{c, m}
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
	a.mux.AddFlag(cmd)
	o.addFlags(cmd)
	return cli.Describe(cmd, `Runs a command in a new session and passes input, output and exit status through.
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
}

func (o *execOptions) addFlags(cmd *cobra.Command) {
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
	f.StringVar(&o.owner, "owner", os.Getenv("GC_SESSION_NAME"), "notify this `SESSION` when the command ends (default: GC_SESSION_NAME)")
	f.StringVar(&o.callID, "call-id", "", "include this `ID` in the message about the end")
	f.StringVar(&o.notify, "notify", process.NotifyAuto, "notify the owner `WHEN`: auto, always, failure or never")
	f.StringVar(&o.key, "key", "", "a second call of the owner with the same `KEY` starts nothing")
	f.BoolVar(&o.json, "json", false, "print the result as JSON instead of the output")
	_ = cmd.RegisterFlagCompletionFunc("notify", cobra.FixedCompletions(
		[]string{process.NotifyAuto, process.NotifyAlways, process.NotifyFailure, process.NotifyNever}, cobra.ShellCompDirectiveNoFileComp))
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

func runExec(ctx context.Context, a *commands, o execOptions) error {
	h, err := a.mux.Remote()
	if err != nil {
		return err
	}
	r, err := o.request(ctx, a, h)
	if err != nil {
		return err
	}
	client, err := a.mux.Ensure(ctx)
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
	fg := &foreground{commands: a, client: client, options: o, caller: r.Owner}
	return fg.run(ctx, r)
}

// request is the request to the server, on h or here.
func (o *execOptions) request(ctx context.Context, a *commands, h *client.Host) (api.ExecRequest, error) {
	r := api.ExecRequest{
		Background: o.background, PTY: o.pty, IdleTimeout: api.Millis(o.idle),
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
		r.Timeout = api.NoTimeout
	case o.limited || !o.background:
		r.Timeout = api.Millis(max(time.Millisecond, o.timeout))
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
		if r.Cols, r.Rows, err = cli.ParseSize(o.size); err != nil {
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
func (o *execOptions) readInput(a *commands, r *api.ExecRequest) error {
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
func (a *commands) leftRunning(res api.ExecResult, asJSON bool) error {
	if asJSON {
		if err := a.PrintJSON(res); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(a.Out, res.ID); err != nil {
		return err
	}
	return cli.Quiet(exitRunning)
}
