package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/attachkeys"
	"gascity.dev/gc/cmd/gc/internal/away"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/attention"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/mux/keys"
)

// cityFinder finds the city of a command and its controller.
type cityFinder struct {
	flag string // --city

	once sync.Once // guards the next two: see load
	read *config.City
	err  error
}

// dir is the directory of the city; see [config.Find]. In a session whose city is on
// another machine, and without --city, the error is [away.ErrAway].
func (f *cityFinder) dir() (string, error) {
	if c := f.far(); c.Far() && !c.Here() {
		return "", c.Err()
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return config.Find(f.flag, here, os.Getenv)
}

// far is the city of this session if it was started on another machine; --city overrides it.
func (f *cityFinder) far() away.City {
	if f.flag != "" {
		return away.City{}
	}
	return away.Of(os.Getenv)
}

// tell carries out a message of this session to its city that needs no answer: say calls
// the city's controller. If the session was started on another machine and the controller
// cannot be reached from here, the message goes into the outbox instead, and queued is its
// receipt.
func (f *cityFinder) tell(ctx context.Context, m cityapi.Message, say func(*cityapi.Client) error) (queued *away.Receipt, err error) {
	c, _, err := f.controller()
	if err == nil {
		defer c.Close()
		return nil, say(c)
	}
	far := f.far()
	if !far.Far() {
		return nil, err
	}
	e, err := far.Post(ctx, m)
	if err != nil {
		return nil, err
	}
	r := away.ReceiptOf(e)
	return &r, nil
}

// away reports whether the controller of this session's city cannot be reached because
// the session is on another machine: only tell reaches the city.
func (f *cityFinder) away() bool {
	if !f.far().Far() {
		return false
	}
	c, _, err := f.controller()
	if err == nil {
		_ = c.Close()
	}
	return err != nil
}

// load reads the city, once for a command.
func (f *cityFinder) load() (*config.City, error) {
	f.once.Do(func() {
		var dir string
		if dir, f.err = f.dir(); f.err == nil {
			f.read, f.err = config.Load(dir, checkDetachKeys)
		}
	})
	return f.read, f.err
}

// checkDetachKeys rejects detach keys that gc attach does not know.
func checkDetachKeys(c *config.City) []config.Problem {
	problems := attachkeys.Check(c.Attach)
	if _, err := keys.ParseDetach(c.Session.DetachKeys); err != nil {
		at := c.Session.Place("detach_keys")
		problems = append(problems, config.Problem{Line: at.Line, Column: at.Column, Msg: "session.detach_keys: " + err.Error(), Hint: `write "ctrl-b d", or "none"`})
	}
	return problems
}

// none reports whether err says that there is no city here and --city was not given.
func (f *cityFinder) none(err error) bool {
	return (errors.Is(err, config.ErrNoCity) || errors.Is(err, away.ErrAway)) && f.flag == ""
}

// optional is load for commands that do not need a city: it returns nil if there is
// none and --city was not given.
func (f *cityFinder) optional() (*config.City, error) {
	city, err := f.load()
	if f.none(err) {
		return nil, nil
	}
	return city, err
}

// controller connects to the city's controller for a call about agents. If the
// config can be read, it first checks and qualifies the names.
func (f *cityFinder) controller(names ...string) (*cityapi.Client, []string, error) {
	dir, err := f.dir()
	if err != nil {
		return nil, nil, err
	}
	if len(names) > 0 {
		if city, err := f.load(); err == nil {
			if names, err = qualify(city, names); err != nil {
				return nil, nil, err
			}
		}
	}
	c, err := cityapi.Dial(dir)
	return c, names, err
}

// agentStatus is the status of the session's agent from a running controller, or
// nil.
func (f *cityFinder) agentStatus(ctx context.Context, session string) *cityapi.AgentStatus {
	dir, err := f.dir()
	if err != nil {
		return nil
	}
	status, err := runningStatus(ctx, dir)
	if err != nil {
		return nil
	}
	for _, ag := range status.Agents {
		if ag.Session == session {
			return &ag
		}
	}
	return nil
}

// hasAgent reports whether the city has an agent with the name.
func (f *cityFinder) hasAgent(name string) bool {
	city, err := f.load()
	if err != nil {
		return false
	}
	_, err = qualify(city, []string{name})
	return err == nil
}

// qualify turns names of agents, pool members and pools into qualified names.
func qualify(city *config.City, names []string) ([]string, error) {
	out := make([]string, len(names))
	for i, n := range names {
		if ag, ok := city.Agent(n); ok {
			out[i] = ag.QualifiedName()
			continue
		}
		s, err := findAgent(city, n)
		if err != nil {
			return nil, err
		}
		out[i] = s.Name()
	}
	return out, nil
}

// findAgent returns the agent, or the member of a pool, that a person named.
func findAgent(city *config.City, name string) (*agent.Spec, error) {
	o, err := buildOptions()
	if err != nil {
		return nil, err
	}
	return agent.Find(city, name, o)
}

// buildOptions describe this process as what starts agents.
func buildOptions() (agent.BuildOptions, error) {
	bin, err := self.Program()
	return agent.BuildOptions{Environ: os.Environ(), Bin: bin}, err
}

// templates returns the specs of the city's agents and pools.
func templates(city *config.City) ([]*agent.Spec, error) {
	o, err := buildOptions()
	if err != nil {
		return nil, err
	}
	return agent.Build(city, o)
}

// members returns the specs of the city's agents and pool members: see
// [agent.Members].
func members(city *config.City, live func(session string) bool) ([]*agent.Spec, error) {
	o, err := buildOptions()
	if err != nil {
		return nil, err
	}
	return agent.Members(city, o, live)
}

// mailCity is the city of the mail commands.
type mailCity struct{ a *app }

func (m mailCity) Dir() (string, error) { return m.a.city.dir() }
func (m mailCity) Away() bool           { return m.a.city.away() }

func (m mailCity) SayAway(ctx context.Context, msg cityapi.Message, asJSON bool) error {
	return m.a.sayAway(ctx, msg, asJSON)
}

func (m mailCity) CompleteAgents(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return m.a.city.completeEveryAgent(cmd, args, prefix)
}

// Post connects to the controller, and adds to a query which session asks.
func (m mailCity) Post(q cityapi.MailQuery) (*cityapi.Client, cityapi.MailQuery, error) {
	c, _, err := m.a.city.controller()
	if far := m.a.city.far(); err != nil && far.Far() {
		q.Token = os.Getenv("GC_INSTANCE_TOKEN")
		return far.Client(os.Getenv), q, nil
	}
	if err != nil {
		return nil, q, err
	}
	dir, err := m.a.city.dir()
	if err != nil {
		_ = c.Close()
		return nil, q, err
	}
	q.InsideRequest = cityapi.SelfIn(dir, os.Getenv)
	return c, q, nil
}

// attentionCity is the city of gc attention.
type attentionCity struct{ a *app }

// Attention asks the controller; without one, only agents that run are known.
func (c attentionCity) Attention(ctx context.Context) ([]cityapi.Attention, error) {
	conn, _, err := c.a.city.controller()
	if err == nil {
		defer conn.Close()
		return conn.Attention(ctx)
	}
	if !errors.Is(err, cityapi.ErrNoController) {
		return nil, err
	}
	c.a.providers.LooksOnly = true
	st, err := cityStatus(ctx, c.a)
	if err != nil {
		return nil, err
	}
	return attention.Of(st.Agents, nil, nil), nil
}

// watchPause follows each look of a watch: events come in groups.
const watchPause = 300 * time.Millisecond

// Watch follows the events of the controller.
func (c attentionCity) Watch(ctx context.Context, changed func() error) error {
	conn, _, err := c.a.city.controller()
	if err != nil {
		return err
	}
	defer conn.Close()
	st, err := conn.Status(ctx)
	if err != nil {
		return err
	}
	for seq := st.Seq; ; {
		if err := changed(); err != nil || ctx.Err() != nil {
			return err
		}
		heard := errors.New("an event")
		err := conn.Events(ctx, seq, true, func(e cityapi.Event) error {
			seq = e.Seq
			return heard
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			return cli.Fail(cli.ExitNotFound, "gc start", "the controller has ended")
		case !errors.Is(err, heard):
			return err
		}
		_ = clock.Sleep(ctx, watchPause) // the next look notices its end
	}
}
