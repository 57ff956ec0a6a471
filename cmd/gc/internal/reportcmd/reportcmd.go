// Package reportcmd is gc report: what an agent is doing, from inside its session.
//
// It asks the multiplexer of its own machine, which finds out which session it runs in.
// As a hook of an agent it holds nobody up: it has a deadline, prints nothing and always
// succeeds. cmd/gc adds [New] to the command tree, and calls [RunHook] without one.
package reportcmd

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/hooks"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// Name is the name of the command.
const Name = "report"

// Limits of a hook.
const (
	hookTime  = 2 * time.Second
	hookInput = 1 << 20
)

// limit is the time that the server has to answer a report of a person's own.
const limit = 10 * time.Second

type options struct {
	message, kind, hook string
	json                bool
}

// New returns gc report.
func New(c *cli.Console) *cobra.Command {
	var o options
	states := status.ReportStates()
	cmd := &cobra.Command{
		Use:               Name + " STATE",
		Short:             "Report what the agent of this session is doing",
		Args:              cli.Between(0, 1),
		ValidArgsFunction: cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.hook != "" {
				RunHook(o.hook, args, c.In)
				return nil
			}
			if len(args) == 0 || !slices.Contains(states, args[0]) {
				return cli.UsageError(cmd, "name the state: "+strings.Join(states, ", "))
			}
			if o.kind != "" && (args[0] != status.Blocked || !slices.Contains(status.ReportKinds(), o.kind)) {
				return cli.UsageError(cmd, "--kind is of blocked: "+strings.Join(status.ReportKinds(), ", "))
			}
			return run(cmd.Context(), c, args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.message, "message", "m", "", "a `TEXT` for a person: the question, the error, the last message of the turn")
	f.StringVar(&o.kind, "kind", "", "of blocked: by what, permission, question (the default) or auth")
	f.StringVar(&o.hook, "hook", "", "be a hook of this `AGENT` ("+strings.Join(hooks.Vendors(), ", ")+"): read its JSON")
	f.BoolVar(&o.json, "json", false, "print JSON: session, sessionId, ignored")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(status.ReportKinds(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("hook", cobra.FixedCompletions(hooks.Vendors(), cobra.ShellCompDirectiveNoFileComp))
	return cli.Describe(cmd, `Reports the state of the agent whose session the command runs in: idle, working, blocked,
done, error; clear withdraws the last report. It is for the hooks of agents and for
scripts. The process tree proves the session, here, on another machine or in a pod.

A report ranks below what the agent itself says (ACP, OSC 7501) and above window titles
and status rules; a question on the screen outranks an older report. A report that is
older than the last one is ignored. gc explain shows the last report and what was ignored.

With --hook it reads the JSON that the agent's hooks get, from standard input or as the
last argument. It then prints nothing and always exits with status 0, after 2 seconds at
most. gc installs such hooks itself for the agents in docs/hooks.md.`, `
		gc report working
		gc report blocked --kind question --message 'Which branch?'
		gc report done -m "$(tail -n 1 notes.txt)"
		gc report --hook claude < call.json`,
		cli.Statuses{cli.ExitFailure: "failure, or the report is ignored", cli.ExitNotFound: "not inside a session, or no mux server runs", cli.ExitCannotTell: "cannot tell: the mux server gave no answer", cli.ExitUnsupported: "the mux server is too old"})
}

func run(ctx context.Context, c *cli.Console, state string, o options) error {
	r := api.ReportRequest{State: state, Kind: o.kind, Message: clip(o.message)}
	out, err := send(ctx, r)
	if err != nil {
		return err
	}
	if o.json {
		if err := c.PrintJSON(out); err != nil {
			return err
		}
	}
	if out.Ignored != "" {
		return cli.Fail(cli.ExitFailure, "", "%s: the report is ignored: %s", out.Session, out.Ignored)
	}
	return nil
}

// send makes one request to the server of this machine. It never starts one.
func send(ctx context.Context, r api.ReportRequest) (out api.ReportResult, err error) {
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return out, err
	}
	out, err = client.ReportOnce(paths, r, limit)
	if !errors.Is(err, api.ErrUnreachable) {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := client.Dial(ctx, paths) // finds out why, or awaits a server that is starting again
	if err != nil {
		return out, err
	}
	defer c.Close()
	return c.Report(ctx, r)
}

// clip cuts a message that the server would cut.
func clip(s string) string { return s[:min(len(s), 4*status.MaxMessage)] }

// Hook parses the command line of a hook: the agent that calls it, and the arguments. ok is
// false for any other command. Agents wait for their hooks: call RunHook without the command tree.
func Hook(args []string) (agent string, more []string, ok bool) {
	if len(args) < 3 || args[0] != Name || args[1] != "--hook" || strings.HasPrefix(args[2], "-") {
		return "", nil, false
	}
	return args[2], args[3:], true
}

// RunHook reports what an agent gave to its hook: the last argument, or in. It ends the
// process with status 0 when hookTime has passed.
func RunHook(agent string, args []string, in io.Reader) {
	began := time.Now()
	time.AfterFunc(hookTime, func() { os.Exit(cli.ExitOK) }) // whatever hangs: in, or the server
	input := []byte(nil)
	if n := len(args); n > 0 {
		input = []byte(args[n-1])
	} else {
		input, _ = io.ReadAll(io.LimitReader(in, hookInput)) // what came of it counts
	}
	call, err := hooks.Parse(agent, input)
	if err != nil || call.State == "" {
		return
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return
	}
	r := api.ReportRequest{State: call.State, Kind: call.Kind, Message: clip(call.Message), Hook: call.Hook, Age: clock.Millis(time.Since(began))}
	_ = client.Tell(paths, r, hookTime) // gc explain shows what was ignored
}
