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

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/cmd/gc/internal/words"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// target is the session that a command acts on.
type target struct {
	label    string // as the person wrote it
	session  string
	provider runtime.Provider
	prefix   string      // ready prefix of the agent; may be empty
	detach   string      // detach keys of the city; may be empty
	spec     *agent.Spec // nil for a session, or if the config cannot be read
	lookOnly bool        // attach = false in city.toml: only read-only attach is allowed
}

// scope is the difference between a command on an agent (gc peek AGENT) and the
// same command on a session (gc session peek NAME).
type scope struct {
	path     string // "gc" or "gc session", with the program's name
	noun     string // "AGENT" or "NAME"
	word     string // "agent" or "session"
	target   func(ctx context.Context, name string) (*target, error)
	running  func(ctx context.Context) (names []string, err error)
	complete cobra.CompletionFunc
}

// on runs act on the session that the first argument names.
func (s scope) on(act func(ctx context.Context, t *target) error) cli.RunE {
	return func(cmd *cobra.Command, args []string) error {
		t, err := s.target(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return act(cmd.Context(), t)
	}
}

// targets are the named targets; without names, all that run.
func (s scope) targets(ctx context.Context, names []string) ([]*target, error) {
	if len(names) == 0 {
		var err error
		if names, err = s.running(ctx); err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, cli.Fail(cli.ExitNotFound, "", "no %s is running", s.word)
		}
	}
	var all []*target
	for _, name := range names {
		t, err := s.target(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func sessionScope(a *app) scope {
	return scope{
		path: cli.Program + " session", noun: "NAME", word: "session", complete: a.completeSessions,
		running: func(ctx context.Context) ([]string, error) {
			p, err := a.sessionProvider(ctx)
			if err != nil {
				return nil, err
			}
			return p.ListRunning(ctx, "")
		},
		target: func(ctx context.Context, name string) (*target, error) {
			if err := runtime.CheckName(name); err != nil {
				return nil, err
			}
			p, err := a.sessionProvider(ctx)
			if err != nil {
				return nil, err
			}
			t := &target{label: name, session: name, provider: p}
			if city, err := a.city.optional(); err == nil && city != nil {
				t.detach = city.Session.DetachKeys
			}
			return t, nil
		},
	}
}

func agentScope(a *app) scope {
	return scope{
		path: cli.Program, noun: "AGENT", word: "agent", complete: a.city.completeAgents,
		running: func(ctx context.Context) ([]string, error) { return runningAgents(ctx, a) },
		target: func(ctx context.Context, name string) (*target, error) {
			city, err := a.city.load()
			if err != nil {
				return a.liveTarget(ctx, name, err)
			}
			spec, err := findAgent(city, name)
			if err != nil {
				return nil, err
			}
			p, err := a.agentProvider(ctx, city, spec)
			if err != nil {
				return nil, err
			}
			a.agent = &target{
				label: spec.Name(), session: spec.Session, provider: p, spec: spec,
				prefix: spec.Resolved.ReadyPromptPrefix, detach: city.Session.DetachKeys, lookOnly: !spec.Resolved.Attach,
			}
			return a.agent, a.agent.ofCity(ctx, city.Dir)
		},
	}
}

// liveTarget finds an agent by asking the running controller, because the config
// cannot be read. Without a controller it returns broken, the config's error.
func (a *app) liveTarget(ctx context.Context, name string, broken error) (*target, error) {
	dir, err := a.city.dir()
	if err != nil {
		return nil, broken
	}
	client, err := cityapi.Dial(dir)
	if err != nil {
		return nil, broken
	}
	defer client.Close()
	status, err := client.Status(ctx)
	if err != nil {
		return nil, broken
	}
	for _, ag := range status.Agents {
		if ag.Name != name && !strings.HasSuffix(ag.Name, "/"+name) {
			continue
		}
		p, err := a.providers.New(backend.Choice{Name: status.SessionProvider, Origin: "the city's controller"}, dir)
		if err != nil {
			return nil, err
		}
		a.agent = &target{label: ag.Name, session: ag.Session, provider: p}
		return a.agent, a.agent.ofCity(ctx, dir)
	}
	return nil, broken
}

// ofCity fails if the session belongs to another city, as with two cities of one
// name. A session without an owner may be starting.
func (t *target) ofCity(ctx context.Context, dir string) error {
	mark, err := t.provider.GetMeta(ctx, t.session, agent.MetaCityPath)
	if err != nil || mark == "" || mark == dir || mark == config.MovedFrom(cli.RealPath(dir)) {
		return nil // the command itself reports the error
	}
	return cli.Fail(cli.ExitFailure, cityapi.ForeignHint, "agent %s: %w: it belongs to %s", t.label, cityapi.ErrForeign, display.Line(mark))
}

// sessionProvider is the provider of the session commands: another machine's with
// --host, else as GC_SESSION or the nearest city says, if there is one.
func (a *app) sessionProvider(ctx context.Context) (runtime.Provider, error) {
	if h, err := a.mux.Remote(); err != nil {
		return nil, err
	} else if h != nil {
		return a.providers.Remote(ctx, h)
	}
	if c := backend.Selected(""); c.Origin == backend.FromEnv {
		dir, _ := a.city.dir() // "" is fine
		return a.providers.New(c, dir)
	}
	city, err := a.city.optional()
	var problems *config.Problems
	switch {
	case errors.As(err, &problems):
		// Session commands do not need a city, so a broken config is not an
		// error.
		a.Warn("cannot use city.toml (%s); using the %s provider (GC_SESSION selects another)", problems.List[0], backend.Default)
		return a.providers.New(backend.Selected(""), "")
	case err != nil:
		return nil, err
	case city == nil:
		return a.providers.New(backend.Selected(""), "")
	}
	return a.providers.New(backend.SelectedIn(city), city.Dir)
}

// agentProvider is the provider of the agent's session: the one that a running
// controller uses, else the selected one.
func (a *app) agentProvider(ctx context.Context, city *config.City, s *agent.Spec) (runtime.Provider, error) {
	c := backend.SelectedIn(city)
	client, err := cityapi.Dial(city.Dir)
	if err != nil {
		return a.providers.New(c, city.Dir) // no controller, or it does not answer
	}
	defer client.Close()
	by, err := client.SessionProvider(ctx)
	if err != nil {
		return nil, fmt.Errorf("controller of %s: %w", city.Name(), err)
	}
	if by != "" && by != c.Name {
		if c.Origin == backend.FromEnv {
			a.Warn("ignoring GC_SESSION=%s: the city's controller uses %s", c.Name, by)
		}
		c = backend.Choice{Name: by, Origin: "the city's controller"}
	}
	return a.providers.New(c, city.Dir)
}

// muxed is a provider whose sessions live in a mux.
type muxed interface {
	Client(context.Context) (*client.Client, error)
}

func hasMux(p runtime.Provider) bool {
	_, ok := runtime.As[muxed](p)
	return ok
}

// muxClient is a client of the mux behind a provider, for features outside the
// contract. It fails with runtime.ErrUnsupported for other providers.
func muxClient(ctx context.Context, p runtime.Provider, what string) (*client.Client, error) {
	m, ok := runtime.As[muxed](p)
	if !ok {
		return nil, fmt.Errorf("%s: %w", what, runtime.ErrUnsupported)
	}
	return m.Client(ctx)
}

// inMux reports whether the session lives, or would live, in a mux.
func inMux(ctx context.Context, t *target) (bool, error) {
	_, ok, err := runtime.AsFor[muxed](ctx, t.provider, t.session)
	return ok, err
}

// sessionClient is muxClient for one session; without a server the session does
// not exist.
func sessionClient(ctx context.Context, t *target, what string) (*client.Client, error) {
	m, ok, err := runtime.AsFor[muxed](ctx, t.provider, t.session)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", what, runtime.ErrUnsupported)
	}
	c, err := m.Client(ctx)
	if host.IsNoServer(err) {
		return nil, fmt.Errorf("%s: %w", t.label, runtime.ErrSessionNotFound)
	}
	return c, err
}

// mustExist fails if the session does not exist, for operations that are best
// effort and would ignore that.
func mustExist(ctx context.Context, t *target) error {
	running, err := t.provider.IsRunning(ctx, t.session)
	if err != nil {
		return err
	}
	if !running {
		return fmt.Errorf("%s: %w", t.label, runtime.ErrSessionNotFound)
	}
	return nil
}

// agentDown replaces a "no such session" error of an agent's command by one that
// says why the agent is down, with a hint.
func (a *app) agentDown(ctx context.Context, err error) error {
	if a.agent == nil || !errors.Is(err, runtime.ErrSessionNotFound) && !errors.Is(err, api.ErrNotFound) {
		return err
	}
	var f *cli.Failure
	if errors.As(err, &f) {
		return err // already specific
	}
	ag := a.city.agentStatus(ctx, a.agent.session)
	if ag == nil {
		c, _, err := a.city.controller()
		if errors.Is(err, cityapi.ErrAnotherUser) {
			return err
		}
		if err == nil {
			_ = c.Close()
		}
		return cli.Fail(cli.ExitNotFound, "gc start", "agent %s is not running", a.agent.label)
	}
	if ag.State == cityapi.StateRunning {
		return cli.Fail(cli.ExitCannotTell, "gc doctor; GC_MUX_SOCKET and XDG_STATE_HOME must be the same as for gc start",
			"agent %s is running, says the controller, but its session is not found from here", ag.Name)
	}
	hint := "gc restart " + ag.Name
	switch {
	case ag.SuspendedBy != "":
		_, hint = words.Suspended(*ag)
	case ag.State == cityapi.StateStarting || ag.WaitsFor != "":
		hint = "gc status --watch"
	case ag.Hint != "":
		hint = ag.Hint
	}
	why := words.State(*ag)
	if i := ag.ActivityInfo; i != nil && i.Kind == runtime.BlockedAuth {
		why = i.Evidence
	}
	return cli.Fail(cli.ExitNotFound, hint, "agent %s is not running: %s", ag.Name, why)
}

// hintedNames is how many names a hint lists.
const hintedNames = 8

// choice is what the user can attach to.
type choice struct {
	scope        scope
	names, about []string // blocked agents first
}

// chooseTarget lists what is running and returns the user's choice.
func chooseTarget(ctx context.Context, a *app, s scope) (string, error) {
	c := &choice{scope: s}
	if err := c.findAll(ctx, a); err != nil {
		return "", err
	}
	if len(c.names) == 0 {
		hint := "gc session new NAME -- COMMAND starts a session"
		if s.path == "gc" {
			hint = "gc start"
		}
		return "", cli.Fail(cli.ExitNotFound, hint, "no %s is running", s.word)
	}
	if !a.Interactive() {
		return "", cli.Fail(cli.ExitUsage, "such as "+strings.Join(c.names[:min(len(c.names), hintedNames)], ", "), "requires the name of the %s", s.word)
	}
	return c.ask(ctx, &a.Console)
}

// findAll finds what is running.
func (c *choice) findAll(ctx context.Context, a *app) error {
	if c.scope.path != "gc" {
		return c.findSessions(ctx, a)
	}
	return c.findAgents(ctx, a)
}

// findAgents finds the running agents and their questions or activities.
func (c *choice) findAgents(ctx context.Context, a *app) error {
	status, err := cityStatus(ctx, a)
	if err != nil {
		return err
	}
	for _, blocked := range []bool{true, false} {
		for _, ag := range status.Agents {
			asks := ag.Activity == runtime.ActivityBlocked
			if ag.State != cityapi.StateRunning || asks != blocked {
				continue
			}
			c.names, c.about = append(c.names, ag.Name), append(c.about, cmp.Or(words.Question(ag), words.Activity(ag)))
		}
	}
	return nil
}

// findSessions finds the running sessions and their commands.
func (c *choice) findSessions(ctx context.Context, a *app) error {
	p, err := a.sessionProvider(ctx)
	if err != nil {
		return err
	}
	if !hasMux(p) {
		c.names, err = p.ListRunning(ctx, "")
		c.about = make([]string, len(c.names))
		return err
	}
	sessions, err := listMux(ctx, p, sessionListOptions{})
	for _, one := range sessions {
		c.names, c.about = append(c.names, one.Name), append(c.about, one.Command)
	}
	return err
}

// ask lists the names and reads the user's choice.
func (c *choice) ask(ctx context.Context, on *cli.Console) (string, error) {
	t := display.Table{Width: on.Width(), Colour: on.Colours(on.Err)}
	what := "STATUS"
	if c.scope.word == "session" {
		what = "COMMAND"
	}
	t.Add("", strings.ToUpper(c.scope.word), what)
	for i, n := range c.names {
		t.Add(strconv.Itoa(i+1), n, c.about[i])
	}
	if err := t.Print(on.Err); err != nil {
		return "", err
	}
	fmt.Fprint(on.Err, "attach to which? [1] ")
	text, err := on.ReadLine(ctx)
	switch {
	case errors.Is(err, io.EOF): // Ctrl-D: no choice
		return "", cli.Quiet(cli.ExitFailure)
	case err != nil:
		return "", err
	}
	return c.find(text)
}

// find returns the name that the user entered as a name or a number; an empty line
// means the first.
func (c *choice) find(text string) (string, error) {
	if i := slices.IndexFunc(c.names, func(name string) bool { return strings.EqualFold(name, text) }); i >= 0 {
		return c.names[i], nil
	}
	n, err := strconv.Atoi(cmp.Or(text, "1"))
	if err != nil || n < 1 || n > len(c.names) {
		return "", cli.Fail(cli.ExitUsage, "enter a name or 1 to "+strconv.Itoa(len(c.names)), "invalid choice %q", text)
	}
	return c.names[n-1], nil
}
