package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/words"
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

// followRestart reports that the program ended. If the controller has restarted
// the agent, it asks whether to attach to the new session.
func (a *app) followRestart(ctx context.Context, t *target, exit *runtime.Exit) (follow bool, err error) {
	how := exit.Status()
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
		ag := a.city.agentStatus(ctx, t.session)
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

// attachTarget is the session to attach to: an agent's, or, on another machine,
// outside a city and with --create, the one with the name.
func attachTarget(ctx context.Context, a *app, s scope, name string, o attachOptions) (*target, error) {
	h, err := a.mux.Remote()
	if err != nil {
		return nil, err
	}
	if h != nil || o.create {
		s = sessionScope(a)
	} else if _, err := a.city.dir(); a.city.none(err) {
		s = sessionScope(a)
	}
	if name == "" {
		if name, err = a.chooseTarget(ctx, s); err != nil {
			return nil, err
		}
	}
	t, err := s.target(ctx, name)
	switch {
	case err != nil:
		return nil, a.sessionInstead(ctx, name, err)
	case o.create:
		return t, a.createMissing(ctx, t, o)
	}
	return t, nil
}

// createMissing starts the session unless it is running.
func (a *app) createMissing(ctx context.Context, t *target, o attachOptions) error {
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
func (a *app) sessionInstead(ctx context.Context, name string, err error) error {
	if status, _ := cli.StatusOf(err); status != cli.ExitNotFound || runtime.CheckName(name) != nil {
		return err
	}
	p, none := a.sessionProvider()
	if none != nil {
		return err
	}
	if running, none := p.IsRunning(ctx, name); none != nil || !running {
		return err
	}
	return cli.Fail(cli.ExitNotFound, "gc session attach "+shell.Word(name)+" attaches to the session with this name", "%w", err)
}

// endedSession replaces a "no such session" error if the session has ended: it
// prints the last screen and returns how the session ended.
func (a *app) endedSession(ctx context.Context, t *target, err error) error {
	if !errors.Is(err, runtime.ErrSessionNotFound) {
		return err
	}
	exit := lastExit(ctx, t)
	if exit == nil {
		return err
	}
	if screen, err := t.provider.Peek(ctx, t.session, lastScreenLines); err == nil {
		cli.PrintScreen(a.Err, screen)
	}
	if t == a.agent {
		return err // agentDown adds the hint
	}
	when := ""
	if !exit.Time.IsZero() {
		when = " " + display.Ago(exit.Time, time.Now()) + " ago"
	}
	return cli.Fail(cli.ExitNotFound, "gc session new "+shell.Word(t.label)+" starts a new one", "%s ended%s: %s", t.label, when, exit.Status())
}

// lastScreenLines is how many lines of an ended session are printed.
const lastScreenLines = 24

// hintedNames is how many names a hint lists.
const hintedNames = 8

// chooseTarget lists what is running and returns the user's choice.
func (a *app) chooseTarget(ctx context.Context, s scope) (string, error) {
	names, about, err := a.attachable(ctx, s)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		hint := "gc session new NAME -- COMMAND starts a session"
		if s.path == "gc" {
			hint = "gc start"
		}
		return "", cli.Fail(cli.ExitNotFound, hint, "no %s is running", s.word)
	}
	if !a.Interactive() {
		return "", cli.Fail(cli.ExitUsage, "such as "+strings.Join(names[:min(len(names), hintedNames)], ", "), "requires the name of the %s", s.word)
	}
	t := display.Table{Width: a.Width(), Colour: a.Colours(a.Err)}
	what := "STATUS"
	if s.word == "session" {
		what = "COMMAND"
	}
	t.Add("", strings.ToUpper(s.word), what)
	for i, n := range names {
		t.Add(strconv.Itoa(i+1), n, about[i])
	}
	if err := t.Print(a.Err); err != nil {
		return "", err
	}
	fmt.Fprint(a.Err, "attach to which? [1] ")
	return a.readChoice(ctx, names)
}

// readChoice reads a number or a name; an empty line means the first.
func (a *app) readChoice(ctx context.Context, names []string) (string, error) {
	text, err := a.readLine(ctx)
	switch {
	case errors.Is(err, io.EOF): // Ctrl-D: no choice
		return "", cli.Quiet(cli.ExitFailure)
	case err != nil:
		return "", err
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, text) }); i >= 0 {
		return names[i], nil
	}
	n, err := strconv.Atoi(cmp.Or(text, "1"))
	if err != nil || n < 1 || n > len(names) {
		return "", cli.Fail(cli.ExitUsage, "enter a name or 1 to "+strconv.Itoa(len(names)), "invalid choice %q", text)
	}
	return names[n-1], nil
}

// attachable are the running agents or sessions and their status, blocked agents
// first.
func (a *app) attachable(ctx context.Context, s scope) (names, about []string, err error) {
	if s.path != "gc" {
		return a.attachableSessions(ctx)
	}
	status, err := cityStatus(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	for _, blocked := range []bool{true, false} {
		for _, ag := range status.Agents {
			asks := ag.Activity == runtime.ActivityBlocked
			if ag.State != cityapi.StateRunning || asks != blocked {
				continue
			}
			names, about = append(names, ag.Name), append(about, cmp.Or(words.Question(ag), words.Activity(ag)))
		}
	}
	return names, about, nil
}

func (a *app) attachableSessions(ctx context.Context) (names, about []string, err error) {
	p, err := a.sessionProvider()
	if err != nil {
		return nil, nil, err
	}
	if !hasMux(p) {
		names, err = p.ListRunning(ctx, "")
		return names, make([]string, len(names)), err
	}
	sessions, err := listMux(ctx, p, sessionListOptions{})
	for _, one := range sessions {
		names, about = append(names, one.Name), append(about, one.Command)
	}
	return names, about, err
}
