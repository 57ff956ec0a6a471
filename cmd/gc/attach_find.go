package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/words"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

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
	} else if _, err := a.cityDir(); errors.Is(err, config.ErrNoCity) && a.city == "" {
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
