package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gascity.dev/gc/cmd/gc/internal/cli"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/runtime"
)

type attachOptions struct {
	readOnly   bool
	detachKeys string
	alone      bool
	scrollback bool
	create     bool
	argv       []string // with create
}

func newAttachCmd(a *app, s scope) *cobra.Command {
	var o attachOptions
	cmd := &cobra.Command{
		Use:               "attach [" + s.noun + "]",
		Short:             "Connect your terminal to a session; ctrl-b d detaches",
		Args:              func(cmd *cobra.Command, args []string) error { return o.checkArgs(cmd, args) },
		ValidArgsFunction: s.complete,
		RunE: cli.GracefulSoon(func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name, o.argv = args[0], args[1:]
			}
			t, err := attachTarget(cmd.Context(), a, s, name, o)
			if err != nil {
				return err
			}
			return runAttach(cmd.Context(), a, t, o)
		}),
	}
	long := ""
	if s.word == "agent" { // the session commands have the flag together
		a.mux.AddFlag(cmd)
		long = "\nWith --host the name is that of a session on the other machine."
	}
	f := cmd.Flags()
	f.BoolVar(&o.readOnly, "read-only", false, "do not send keys to the program or resize it")
	f.StringVar(&o.detachKeys, "detach-keys", "", "detach with these `KEYS`, such as \"ctrl-q\" or \"none\" (default: GC_DETACH_KEYS, else detach_keys of the city, else \"ctrl-b d\")")
	f.BoolVar(&o.alone, "detach-others", false, "detach all other terminals, like tmux attach -d")
	f.BoolVar(&o.scrollback, "scrollback", false, "print the history into your terminal's scrollback first")
	f.BoolVar(&o.create, "create", false, "if no session has this name, start one with the command after -- (default: your shell)")
	return cli.Describe(cmd, `Shows the session's screen and passes input and output through until you press the
detach keys, the program ends or the connection breaks. ctrl-b ctrl-b sends one
ctrl-b. When an agent is restarted, Enter attaches to the new session. Your terminal
is always restored.

Without a name it lists what is running, to choose from. gc attach looks for an agent
of the city, or, outside a city, for a session.`+long, fmt.Sprintf(`
		%[1]s attach %[2]s
		%[1]s attach %[2]s --read-only
		%[1]s attach --create notes -- vim notes.txt
		%[1]s attach %[2]s --detach-keys 'ctrl-q'`, s.path, s.word),
		cli.Statuses{cli.ExitOK: "detached, or the program ended", cli.ExitNotFound: "", cli.ExitUnsupported: ""})
}

func runAttach(ctx context.Context, a *app, t *target, o attachOptions) error {
	detach := cmp.Or(o.detachKeys, os.Getenv("GC_DETACH_KEYS"), t.detach)
	if _, err := keys.ParseDetach(detach); err != nil {
		return cli.Fail(cli.ExitUsage, `such as "ctrl-b d", "ctrl-q,x" or "none"`, "%v", err)
	}
	can, err := runtime.CapabilitiesFor(ctx, t.provider, t.session)
	if err != nil {
		return err
	}
	if !can.Attach {
		return fmt.Errorf("attach %s: %w", t.label, runtime.ErrUnsupported)
	}
	if t.lookOnly && !o.readOnly {
		return cli.Fail(cli.ExitFailure, "gc attach "+shell.Word(t.label)+" --read-only, or gc nudge", "agent %s has attach = false in city.toml", t.label)
	}
	if o.scrollback {
		if muxed, err := inMux(ctx, t); err != nil {
			return err
		} else if !muxed {
			return fmt.Errorf("attach --scrollback %s: %w", t.label, runtime.ErrUnsupported)
		}
	}
	if f, ok := a.In.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		if err := mustExist(ctx, t); err != nil {
			return a.endedSession(ctx, t, err)
		}
		return cli.Fail(cli.ExitUsage, "peek, nudge and keys work without one", "attach requires a terminal on standard input")
	}
	terminal := runtime.Terminal{
		In: a.In, Out: a.Out, ReadOnly: o.readOnly, DetachKeys: detach, Alone: o.alone, Scrollback: o.scrollback,
	}
	for follow := true; follow; {
		if follow, err = a.attachOnce(ctx, t, terminal); err != nil {
			return err
		}
		terminal.Scrollback, terminal.Alone = false, false // only the first time
	}
	return nil
}

// attachOnce attaches until the user detaches or the program ends. It returns
// follow if the user wants to attach to the agent's next session.
func (a *app) attachOnce(ctx context.Context, t *target, terminal runtime.Terminal) (follow bool, err error) {
	ended := false
	var exit *runtime.Exit
	terminal.Ended = func(e *runtime.Exit) { ended, exit = true, e }
	terminal.Lost = func(n uint64) {
		fmt.Fprintf(a.Err, "%s: the multiplexer was restarted: up to %d bytes of your input may be lost\n", t.label, n)
	}
	err = t.provider.Attach(ctx, t.session, terminal)
	switch {
	case errors.Is(err, runtime.ErrSentAway):
		fmt.Fprintf(a.Err, "detached from %s: %v\n", t.label, runtime.ErrSentAway)
		return false, nil
	case err != nil:
		return false, a.endedSession(ctx, t, err)
	case ctx.Err() != nil: // a signal ended it
		return false, context.Cause(ctx)
	}
	if !ended { // not every provider reports it
		exit = lastExit(ctx, t)
	}
	if !ended && exit == nil {
		fmt.Fprintf(a.Err, "detached from %s\n", t.label)
		return false, nil
	}
	return a.followRestart(ctx, t, exit)
}

// How long attach waits for an agent to be restarted, and how often it looks for
// the new session.
const (
	followTime = 10 * time.Second
	followTick = 50 * time.Millisecond
)

// followRestart says that the program ended. If the controller has restarted the
// agent, it asks whether to attach to the new session.
func (a *app) followRestart(ctx context.Context, t *target, exit *runtime.Exit) (follow bool, err error) {
	how := "exit status unknown"
	if exit != nil {
		how = exit.Status()
	}
	if a.agent == nil || !a.awaitRestart(ctx, t) {
		fmt.Fprintf(a.Err, "%s ended: %s\n", t.label, how)
		return false, nil
	}
	fmt.Fprintf(a.Err, "%s restarted (%s): Enter attaches again, any other key exits ", t.label, how)
	key, err := a.readKey(ctx)
	fmt.Fprintln(a.Err)
	return err == nil && (key == '\r' || key == '\n'), err
}

// awaitRestart waits until the agent has a session again. It returns false if the
// controller will not start one, or not soon.
func (a *app) awaitRestart(ctx context.Context, t *target) bool {
	ctx, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	for {
		ag := a.statusOf(ctx, t)
		if ag == nil || ag.Stopping || ag.SuspendedBy != "" || ag.OneShot {
			return false
		}
		switch ag.State {
		case cityapi.StateRunning, cityapi.StateStarting:
			if running, err := t.provider.IsRunning(ctx, t.session); err == nil && running {
				return true
			}
		case cityapi.StateQuarantined, cityapi.StateSuspended, cityapi.StateUnknown, cityapi.StateExited:
			return false
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// readKey reads one key from the terminal. It returns when ctx ends; the reader
// then lives until the process exits.
func (a *app) readKey(ctx context.Context) (byte, error) {
	f, ok := a.In.(*os.File)
	if !ok {
		return 0, nil
	}
	old, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return 0, err
	}
	defer func() { _ = term.Restore(int(f.Fd()), old) }() // best effort
	key := make(chan byte, 1)
	go func() {
		var b [1]byte
		_, _ = f.Read(b[:]) // the end of input is the key 0
		key <- b[0]
	}()
	select {
	case k := <-key:
		return k, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}
