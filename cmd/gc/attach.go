package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/attachkeys"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/notices"
	"gascity.dev/gc/internal/attention"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/config"
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
			return attachFrom(cmd.Context(), a, s, name, o)
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
detach keys, the program ends or the connection breaks. ctrl-b [ scrolls, searches and
copies, ctrl-b s switches to another session, ctrl-b ? lists all keys, ctrl-b ctrl-b
sends one ctrl-b; [attach] in city.toml or ~/.config/gc/config.toml changes them.

When an agent is restarted, Enter attaches to the new session. Your terminal
is always restored. While the multiplexer or another machine does not answer, the last
line says so, and what you type is kept: for 10 seconds, or 10 minutes.

Without a name it lists what is running, to choose from. gc attach looks for an agent
of the city, or, outside a city, for a session.`+long, fmt.Sprintf(`
		%[1]s attach %[2]s
		%[1]s attach %[2]s --read-only
		%[1]s attach --create notes -- vim notes.txt
		%[1]s attach %[2]s --detach-keys 'ctrl-q'`, s.path, s.word),
		cli.Statuses{cli.ExitOK: "detached, or the program ended", cli.ExitNotFound: "", cli.ExitUnsupported: ""})
}

// attachFrom attaches to a session, and then to those that the person switches to.
func attachFrom(ctx context.Context, a *app, s scope, name string, o attachOptions) error {
	s, err := attachScope(a, s, o)
	for err == nil {
		var t *target
		if t, err = attachTarget(ctx, a, s, name, o); err != nil {
			return err
		}
		if name, err = runAttach(ctx, a, s, t, o); name == "" {
			return err
		}
		o.create, o.alone, o.scrollback = false, false, false // only the first time
	}
	return err
}

// runAttach attaches to a session, and returns the name of the one that the person switched
// to, if any.
func runAttach(ctx context.Context, a *app, s scope, t *target, o attachOptions) (next string, err error) {
	at, err := newAttachment(ctx, a, t, o)
	if err != nil {
		return "", err
	}
	at.scope = s
	if !a.Interactive() {
		if err := mustExist(ctx, t); err != nil {
			return "", at.ended(ctx, err)
		}
		return "", cli.Fail(cli.ExitUsage, "peek, nudge and keys work without one", "attach requires a terminal on standard input")
	}
	defer at.tellOfCity(ctx)()
	for follow := true; follow; {
		if follow, err = at.once(ctx); err != nil {
			return "", err
		}
		at.terminal.Scrollback, at.terminal.Alone = false, false // only the first time
	}
	return at.next, nil
}

// newAttachment checks that a session can be attached to, and how.
func newAttachment(ctx context.Context, a *app, t *target, o attachOptions) (*attachment, error) {
	detach := cmp.Or(o.detachKeys, os.Getenv("GC_DETACH_KEYS"), t.detach)
	if _, err := keys.ParseDetach(detach); err != nil {
		return nil, cli.Fail(cli.ExitUsage, `such as "ctrl-b d", "ctrl-q,x" or "none"`, "%v", err)
	}
	city, _ := a.city.optional() // without one, or with a broken one, the person's own keys
	changes, welcome, err := attachkeys.Find(city)
	if err != nil {
		return nil, err
	}
	if os.Getenv("TERM") == "dumb" && a.Interactive() {
		return nil, cli.Fail(cli.ExitUsage, "peek, logs, nudge and keys work in one; TERM says what a terminal can", "a terminal that cannot move its cursor (TERM=dumb) cannot show a session")
	}
	can, err := runtime.CapabilitiesFor(ctx, t.provider, t.session)
	if err != nil {
		return nil, err
	}
	if !can.Attach {
		return nil, fmt.Errorf("attach %s: %w", t.label, runtime.ErrUnsupported)
	}
	if t.lookOnly && !o.readOnly {
		return nil, cli.Fail(cli.ExitFailure, "gc attach "+shell.Word(t.label)+" --read-only, or gc nudge", "agent %s has attach = false in city.toml", t.label)
	}
	if o.scrollback {
		if muxed, err := inMux(ctx, t); err != nil {
			return nil, err
		} else if !muxed {
			return nil, fmt.Errorf("attach --scrollback %s: %w", t.label, runtime.ErrUnsupported)
		}
	}
	at := &attachment{app: a, t: t, terminal: runtime.Terminal{
		In: a.In, Out: a.Out, ReadOnly: o.readOnly, DetachKeys: detach, Alone: o.alone, Scrollback: o.scrollback,
		Keys: changes,
	}}
	at.terminal.Choices = at.choices
	at.terminal.Switched = func(name string) { at.next = name }
	if welcome {
		at.terminal.Welcome = attachkeys.Welcome(t.label, detach, changes, o.readOnly)
	}
	return at, nil
}

// attachment connects the user's terminal to a session.
type attachment struct {
	app      *app
	scope    scope
	t        *target
	terminal runtime.Terminal
	next     string // the session that the user switched to
}

// choices lists what the user can switch to.
func (at *attachment) choices(ctx context.Context) (all []runtime.Choice, err error) {
	c := &choice{scope: at.scope}
	err = c.findAll(ctx, at.app)
	for i, name := range c.names {
		all = append(all, runtime.Choice{Name: name, About: c.about[i]})
	}
	return all, err
}

// noticePause is between two tries to follow a city whose controller does not answer.
const noticePause = 10 * time.Second

// tellOfCity tells the terminal what happens in the rest of the agent's city, until the result
// is called.
func (at *attachment) tellOfCity(ctx context.Context) (end func()) {
	city, err := at.app.city.optional()
	if at.t.spec == nil || err != nil || city == nil || city.Notify.Terminal == config.TerminalOff {
		return func() {}
	}
	told, out := notices.Terminal{Mode: city.Notify.Terminal}, make(chan []byte)
	ctx, cancel := context.WithCancel(ctx)
	send := func(b []byte) {
		if len(b) == 0 {
			return
		}
		select {
		case out <- b:
		case <-ctx.Done():
		}
	}
	at.terminal.Notices = out
	var follow sync.WaitGroup
	follow.Go(func() {
		for ctx.Err() == nil {
			_ = attentionCity{at.app}.Watch(ctx, func() error { // it is tried again
				st, err := cityStatus(ctx, at.app)
				if err == nil {
					send(told.Attention(attention.Of(st.Agents, nil, nil)))
					send(told.Status(st.Agents))
				}
				return nil
			})
			_ = clock.Sleep(ctx, noticePause)
		}
	})
	return func() {
		cancel()
		follow.Wait()
		_, _ = at.app.Out.Write(told.Clear()) // the terminal may be gone
	}
}

// once attaches until the user detaches or the program ends. It returns
// follow if the user wants to attach to the agent's next session.
func (at *attachment) once(ctx context.Context) (follow bool, err error) {
	ended := false
	var exit *runtime.Exit
	terminal := at.terminal
	terminal.Ended = func(e *runtime.Exit) { ended, exit = true, e }
	terminal.Lost = func(n uint64) {
		fmt.Fprintf(at.app.Err, "%s: the multiplexer was restarted: up to %d bytes of your input may be lost\n", at.t.label, n)
	}
	err = at.t.provider.Attach(ctx, at.t.session, terminal)
	switch {
	case errors.Is(err, runtime.ErrSentAway):
		fmt.Fprintf(at.app.Err, "detached from %s: %v\n", at.t.label, runtime.ErrSentAway)
		return false, nil
	case err != nil:
		return false, at.ended(ctx, err)
	case ctx.Err() != nil: // a signal ended it
		return false, context.Cause(ctx)
	case at.next != "":
		return false, nil
	}
	if !ended { // not every provider reports it
		exit = lastExit(ctx, at.t)
	}
	if !ended && exit == nil {
		fmt.Fprintf(at.app.Err, "detached from %s; it keeps running\n", at.t.label)
		return false, nil
	}
	return at.followRestart(ctx, exit)
}

// How long attach waits for an agent to be restarted, and how often it looks for
// the new session.
const (
	followTime = 10 * time.Second
	followTick = 50 * time.Millisecond
)

// followRestart reports that the program ended. If the controller has restarted
// the agent, it asks whether to attach to the new session.
func (at *attachment) followRestart(ctx context.Context, exit *runtime.Exit) (follow bool, err error) {
	how := exit.Status()
	if at.app.agent == nil {
		fmt.Fprintf(at.app.Err, "%s ended: %s\n", at.t.label, how)
		return false, nil
	}
	again, why := at.awaitRestart(ctx)
	if !again {
		fmt.Fprintf(at.app.Err, "%s ended: %s%s\n", at.t.label, how, why)
		return false, nil
	}
	fmt.Fprintf(at.app.Err, "%s restarted by the city (%s): Enter attaches again, any other key exits ", at.t.label, how)
	key, err := at.app.ReadKey(ctx)
	fmt.Fprintln(at.app.Err)
	return err == nil && (key == '\r' || key == '\n'), err
}

// awaitRestart waits until the agent has a session again. It returns false if the
// controller will not start one, or not soon, and what of that the user should know.
func (at *attachment) awaitRestart(ctx context.Context) (again bool, why string) {
	ctx, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	for {
		ag := at.app.city.agentStatus(ctx, at.t.session)
		switch {
		case ag == nil || ag.OneShot:
			return false, ""
		case at.t.spec != nil && strings.HasPrefix(ag.Host, "ssh://") && ag.Host != at.t.spec.Host():
			return false, "; it was moved to " + ag.Host
		case ag.Stopping || ag.SuspendedBy != "" || ag.Drain != nil:
			return false, "; the city stopped it"
		}
		switch ag.State {
		case cityapi.StateRunning, cityapi.StateStarting:
			if running, err := at.t.provider.IsRunning(ctx, at.t.session); err == nil && running {
				return true, ""
			}
		case cityapi.StateQuarantined:
			return false, "; the city tried too often and does not restart it for now"
		case cityapi.StateSuspended, cityapi.StateUnknown, cityapi.StateExited:
			return false, ""
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, ""
		}
	}
}

// checkArgs allows a command only with --create, after --.
func (o *attachOptions) checkArgs(cmd *cobra.Command, args []string) error {
	if !o.create {
		return cli.Between(0, 1)(cmd, args)
	}
	if dash := cmd.ArgsLenAtDash(); dash > 1 || dash < 0 && len(args) > 1 {
		return cli.UsageError(cmd, "put -- before the command: gc attach --create NAME -- COMMAND")
	}
	return cli.Between(1, -1)(cmd, args)
}

// attachScope is what is attached to: agents, or, on another machine, outside a city and
// with --create, sessions.
func attachScope(a *app, s scope, o attachOptions) (scope, error) {
	h, err := a.mux.Remote()
	if err != nil {
		return s, err
	}
	if h != nil || o.create {
		return sessionScope(a), nil
	}
	if _, err := a.city.dir(); a.city.none(err) {
		return sessionScope(a), nil
	}
	return s, nil
}

// attachTarget is the session to attach to: that with the name, or one that the user
// chooses.
func attachTarget(ctx context.Context, a *app, s scope, name string, o attachOptions) (_ *target, err error) {
	if name == "" {
		if name, err = chooseTarget(ctx, a, s); err != nil {
			return nil, err
		}
	}
	t, err := s.target(ctx, name)
	switch {
	case err != nil:
		return nil, sessionInstead(ctx, a, name, err)
	case o.create:
		return t, createMissing(ctx, a, t, o)
	}
	return t, nil
}

// createMissing starts the session unless it is running.
func createMissing(ctx context.Context, a *app, t *target, o attachOptions) error {
	running, err := t.provider.IsRunning(ctx, t.session)
	switch {
	case err != nil || running:
		return err
	case !a.Interactive():
		return cli.Fail(cli.ExitUsage, "gc session new works without one", "attach requires a terminal on standard input")
	}
	return runSessionNew(ctx, a, sessionNewOptions{name: t.session, argv: o.argv})
}

// sessionInstead adds a hint to a "no such agent" error if a session has the name.
func sessionInstead(ctx context.Context, a *app, name string, err error) error {
	if status, _ := cli.StatusOf(err); status != cli.ExitNotFound || runtime.CheckName(name) != nil {
		return err
	}
	p, none := a.sessionProvider(ctx)
	if none != nil {
		return err
	}
	if running, none := p.IsRunning(ctx, name); none != nil || !running {
		return err
	}
	return cli.Fail(cli.ExitNotFound, "gc session attach "+shell.Word(name)+" attaches to the session with this name", "%w", err)
}

// ended replaces a "no such session" error if the session has ended: it
// prints the last screen and returns how the session ended.
func (at *attachment) ended(ctx context.Context, err error) error {
	if !errors.Is(err, runtime.ErrSessionNotFound) {
		return err
	}
	exit := lastExit(ctx, at.t)
	if exit == nil {
		return err
	}
	if screen, err := at.t.provider.Peek(ctx, at.t.session, lastScreenLines); err == nil {
		cli.PrintScreen(at.app.Err, screen)
	}
	if at.t == at.app.agent {
		return err // agentDown adds the hint
	}
	when := ""
	if !exit.Time.IsZero() {
		when = " " + display.Ago(exit.Time, time.Now()) + " ago"
	}
	return cli.Fail(cli.ExitNotFound, "gc session new "+shell.Word(at.t.label)+" starts a new one", "%s ended%s: %s", at.t.label, when, exit.Status())
}

// lastScreenLines is how many lines of an ended session are printed.
const lastScreenLines = 24
