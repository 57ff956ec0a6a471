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
		Short:             "Connect your terminal, until you press ctrl-b d",
		Args:              func(cmd *cobra.Command, args []string) error { return o.checkArgs(cmd, args) },
		ValidArgsFunction: s.complete,
		RunE: gracefulSoon(func(cmd *cobra.Command, args []string) error {
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
		addHost(a, cmd)
		long = " With --host the name\nis that of a session there."
	}
	f := cmd.Flags()
	f.BoolVar(&o.readOnly, "read-only", false, "only look: no key reaches the program, its size stays")
	f.StringVar(&o.detachKeys, "detach-keys", "", `keys that detach, such as "ctrl-q" or "none" (default: GC_DETACH_KEYS, else detach_keys of the city, else "ctrl-b d")`)
	f.BoolVar(&o.alone, "detach-others", false, "send the other terminals away, as tmux attach -d does")
	f.BoolVar(&o.scrollback, "scrollback", false, "print the history first, into your terminal's own")
	f.BoolVar(&o.create, "create", false, "start the command after -- (your shell without one) in a session of that name when none runs")
	return describe(cmd, `Shows the session as it stands and passes everything through, both ways, until
the detach keys, the end of the program or of the connection. ctrl-b twice sends
one ctrl-b. When an agent is restarted, Enter goes on with the new one. Your
terminal is restored in every case.

Without a name it offers what runs. `+"`gc attach`"+` looks for an agent of the city
and, where there is no city, for a session.`+long, fmt.Sprintf(`
		%[1]s attach %[2]s
		%[1]s attach %[2]s --read-only
		%[1]s attach --create notes -- vim notes.txt
		%[1]s attach %[2]s --detach-keys 'ctrl-q'`, s.path, s.word),
		statuses{exitOK: "detached, sent away, or the program ended", exitNotFound: "", exitUnsupported: ""})
}

func runAttach(ctx context.Context, a *app, t *target, o attachOptions) error {
	detach := cmp.Or(o.detachKeys, os.Getenv("GC_DETACH_KEYS"), t.detach)
	if _, err := keys.ParseDetach(detach); err != nil {
		return fail(exitUsage, `such as "ctrl-b d", "ctrl-q,x" or "none"`, "%v", err)
	}
	can, err := runtime.CapabilitiesFor(ctx, t.provider, t.session)
	if err != nil {
		return err
	}
	if !can.Attach {
		return fmt.Errorf("attach %s: %w", t.label, runtime.ErrUnsupported)
	}
	if t.lookOnly && !o.readOnly {
		return fail(exitFailure, "gc attach "+shell.Word(t.label)+" --read-only, or gc nudge", "agent %s has attach = false in city.toml", t.label)
	}
	if o.scrollback {
		if muxed, err := inMux(ctx, t); err != nil {
			return err
		} else if !muxed {
			return fmt.Errorf("attach --scrollback %s: %w", t.label, runtime.ErrUnsupported)
		}
	}
	if f, ok := a.in.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		if err := mustExist(ctx, t); err != nil {
			return a.endedSession(ctx, t, err)
		}
		return fail(exitUsage, "peek, nudge and keys need none", "attach needs a terminal, and standard input is none")
	}
	terminal := runtime.Terminal{
		In: a.in, Out: a.out, ReadOnly: o.readOnly, DetachKeys: detach, Alone: o.alone, Scrollback: o.scrollback,
	}
	for follow := true; follow; {
		if follow, err = a.attachOnce(ctx, t, terminal); err != nil {
			return err
		}
		terminal.Scrollback, terminal.Alone = false, false // of the first one alone
	}
	return nil
}

// attachOnce attaches until the person leaves or the program ends. follow: the
// person wants to go on with the agent's next session.
func (a *app) attachOnce(ctx context.Context, t *target, terminal runtime.Terminal) (follow bool, err error) {
	ended := false
	var exit *runtime.Exit
	terminal.Ended = func(e *runtime.Exit) { ended, exit = true, e }
	terminal.Lost = func(n uint64) {
		fmt.Fprintf(a.err, "%s: the multiplexer was restarted: up to %d bytes that you typed may not have arrived\n", t.label, n)
	}
	err = t.provider.Attach(ctx, t.session, terminal)
	switch {
	case errors.Is(err, runtime.ErrSentAway):
		fmt.Fprintf(a.err, "detached from %s: %v\n", t.label, runtime.ErrSentAway)
		return false, nil
	case err != nil:
		return false, a.endedSession(ctx, t, err)
	case ctx.Err() != nil: // a signal ended it
		return false, context.Cause(ctx)
	}
	if !ended { // not every provider can tell
		exit = lastExit(ctx, t)
	}
	if !ended && exit == nil {
		fmt.Fprintf(a.err, "detached from %s\n", t.label)
		return false, nil
	}
	return a.followRestart(ctx, t, exit)
}

// How long an attached person waits for an agent to be restarted, and how often
// its session is looked for meanwhile.
const (
	followTime = 10 * time.Second
	followTick = 50 * time.Millisecond
)

// followRestart tells an attached person that the program ended and, when the
// controller has started the agent again, whether to go on with it.
func (a *app) followRestart(ctx context.Context, t *target, exit *runtime.Exit) (follow bool, err error) {
	how := "exit status unknown"
	if exit != nil {
		how = exitText(exit)
	}
	if a.agent == nil || !a.awaitRestart(ctx, t) {
		fmt.Fprintf(a.err, "%s ended: %s\n", t.label, how)
		return false, nil
	}
	fmt.Fprintf(a.err, "%s restarted (%s): Enter goes on with it, any other key leaves ", t.label, how)
	key, err := a.readKey(ctx)
	fmt.Fprintln(a.err)
	return err == nil && (key == '\r' || key == '\n'), err
}

// awaitRestart waits until the agent has a session again. It returns false when
// the controller does not start one, or not soon.
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

// readKey reads one key from the terminal, or returns when ctx ends; the reader
// then ends with the process.
func (a *app) readKey(ctx context.Context) (byte, error) {
	f, ok := a.in.(*os.File)
	if !ok {
		return 0, nil
	}
	old, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return 0, err
	}
	defer func() { _ = term.Restore(int(f.Fd()), old) }() // nothing is left to do about it
	key := make(chan byte, 1)
	go func() {
		var b [1]byte
		_, _ = f.Read(b[:]) // the end of input is a key that leaves
		key <- b[0]
	}()
	select {
	case k := <-key:
		return k, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}
