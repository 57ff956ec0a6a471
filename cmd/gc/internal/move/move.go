// Package move moves an agent of a running city to another session provider: another
// machine, or back to this one.
//
// The agent ends first and starts again last: it never runs in two places. When a
// step fails, city.toml is as it was, and the agent starts where it ran. The package
// changes one key of city.toml and, when asked, the other work directory; nothing is
// deleted where the agent was. cmd/gc makes one for gc agent move.
package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity.dev/gc/internal/carry"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// Controller is the part of a city's controller that a move needs.
type Controller interface {
	Status(ctx context.Context) (cityapi.Status, error)
	Events(ctx context.Context, after uint64, follow bool, fn func(cityapi.Event) error) error
	StopAgents(ctx context.Context, agents ...string) error
	Resume(ctx context.Context, agents ...string) error
	Drain(ctx context.Context, agents ...string) error
	Undrain(ctx context.Context, agents ...string) error
	Reload(ctx context.Context) error
	CarryConversation(ctx context.Context, q cityapi.CarriedConversation) error
}

// Carry is what of a work directory is taken along.
type Carry string

// What is taken along.
const (
	Nothing Carry = ""
	Git     Carry = "git"   // a git work tree with its uncommitted changes
	Files   Carry = "files" // all files
)

// Move is one move.
type Move struct {
	City       *config.City
	Controller Controller
	Agent      string           // its qualified name
	From, To   config.Placement // with the session keys set
	Carry      Carry
	Keeps      carry.Conversation // where its program keeps conversations, without an ID; "" if gc does not know

	// Place returns the agent's work directory on the machine, and makes it.
	Place func(ctx context.Context, p config.Placement) (carry.Place, error)
	// Say reports the next step; may be nil.
	Say func(step string)

	start     func(ctx context.Context, agents ...string) error // ends what keeps the agent down; nil: a person suspended it
	converses string                                            // the conversation that was copied; "" if none was
}

// ErrStays means that the agent was not moved. It runs, or will run, where it was.
var ErrStays = errors.New("the agent was not moved")

// Run moves the agent, and returns when its controller is starting it there.
func (m *Move) Run(ctx context.Context) error {
	to, from, err := m.places(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStays, err)
	}
	if err := m.end(ctx); err != nil {
		return m.back(ctx, err)
	}
	if err := m.carry(ctx, from, to); err != nil {
		return m.back(ctx, err)
	}
	m.converse(ctx, from, to)
	if err := m.settle(ctx); err != nil {
		return m.back(ctx, err)
	}
	m.resume(ctx)
	return m.again(ctx)
}

func (m *Move) say(step string) {
	if m.Say != nil {
		m.Say(step)
	}
}

// places finds both work directories before anything is changed, so that a machine that
// cannot be reached costs nothing.
func (m *Move) places(ctx context.Context) (to, from carry.Place, err error) {
	if to, err = m.Place(ctx, m.To); err != nil {
		return to, from, err
	}
	from, err = m.Place(ctx, m.From)
	if m.Carry == Nothing && err != nil {
		from, err = carry.Place{}, nil // a machine that is gone need not be left in order
	}
	return to, from, err
}

// end ends the agent and waits for its end. One that is idle has nothing to finish.
func (m *Move) end(ctx context.Context) error {
	st, err := m.Controller.Status(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(st.Agents, func(ag cityapi.AgentStatus) bool { return ag.Name == m.Agent })
	switch {
	case i >= 0 && st.Agents[i].SuspendedBy == cityapi.ByAgent:
	case i >= 0 && (st.Agents[i].Activity == runtime.ActivityIdle || st.Agents[i].Activity == runtime.ActivityDone):
		m.start = m.Controller.Resume
		return m.Controller.StopAgents(ctx, m.Agent)
	default:
		m.start = m.Controller.Undrain
		if err := m.Controller.Drain(ctx, m.Agent); err != nil {
			return err
		}
	}
	m.say("waiting until " + m.Agent + " has ended")
	for seq := st.Seq; ; {
		if down, err := m.isDown(ctx); down || err != nil {
			return err
		}
		if seq, err = m.next(ctx, seq); err != nil {
			return err
		}
	}
}

// again lets the agent start.
func (m *Move) again(ctx context.Context) error {
	if m.start == nil {
		return nil
	}
	return m.start(ctx, m.Agent)
}

// isDown reports whether the agent has ended and is held down.
func (m *Move) isDown(ctx context.Context) (bool, error) {
	st, err := m.Controller.Status(ctx)
	if err != nil {
		return false, err
	}
	for _, ag := range st.Agents {
		if ag.Name != m.Agent {
			continue
		}
		switch ag.State {
		case cityapi.StateUnknown:
			return false, fmt.Errorf("cannot tell whether %s runs: %s", m.Agent, ag.Error)
		case cityapi.StateStopped, cityapi.StateSuspended, cityapi.StateExited, cityapi.StateCrashed, cityapi.StateQuarantined:
			return true, nil
		}
	}
	return false, nil
}

// lookAgain bounds how long a state that no event reports goes unnoticed.
const lookAgain = 2 * time.Second

// errHeard ends the wait for an event.
var errHeard = errors.New("there was an event")

// next waits for an event after seq, and returns its number.
func (m *Move) next(ctx context.Context, seq uint64) (uint64, error) {
	wait, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	err := m.Controller.Events(wait, seq, true, func(e cityapi.Event) error {
		seq = e.Seq
		return errHeard
	})
	switch {
	case errors.Is(err, errHeard), ctx.Err() == nil && wait.Err() != nil:
		return seq, nil
	case err == nil:
		return seq, errors.Join(ctx.Err(), errors.New("the controller has ended"))
	}
	return seq, err
}

func (m *Move) carry(ctx context.Context, from, to carry.Place) error {
	if m.Carry == Nothing {
		return nil
	}
	m.say("taking " + from.Dir + " along")
	if m.Carry == Git {
		return carry.Git(ctx, from, to)
	}
	return carry.Tar(ctx, from, to)
}

// converse copies the agent's conversation. Without it the agent begins a new one there:
// no reason to stay.
func (m *Move) converse(ctx context.Context, from, to carry.Place) {
	id, err := m.conversation(ctx)
	switch {
	case err == nil && id == "", m.To.Session == m.From.Session && m.To.WorkDir == m.From.WorkDir:
		return
	case err != nil:
	case m.Keeps.Dir == "":
		err = errors.New("gc does not know where its program keeps conversations")
	case from.Run == nil:
		err = errors.New("its machine cannot be reached")
	default:
		m.Keeps.ID = id
		err = m.Keeps.Take(ctx, from, to)
	}
	if err != nil {
		m.say("it begins a new conversation: " + err.Error())
		return
	}
	m.converses = id
}

// conversation is what the agent would resume where it is; "" if nothing.
func (m *Move) conversation(ctx context.Context) (string, error) {
	st, err := m.Controller.Status(ctx)
	if err != nil {
		return "", err
	}
	for _, ag := range st.Agents {
		if ag.Name == m.Agent {
			return ag.Conversation, nil
		}
	}
	return "", nil
}

// resume lets the agent resume the copied conversation.
func (m *Move) resume(ctx context.Context) {
	if m.converses == "" {
		return
	}
	if err := m.Controller.CarryConversation(ctx, cityapi.CarriedConversation{Agent: m.Agent, Conversation: m.converses}); err != nil {
		m.say("it begins a new conversation: " + err.Error())
	}
}

// settle changes city.toml. A file that the controller does not accept is changed back.
func (m *Move) settle(ctx context.Context) error {
	before := m.written()
	if err := config.SetPlacement(m.City, m.Agent, m.To); err != nil {
		return err
	}
	err := m.Controller.Reload(ctx)
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if undo := errors.Join(config.SetPlacement(m.City, m.Agent, before), m.Controller.Reload(ctx)); undo != nil {
		return fmt.Errorf("%w; and cannot change city.toml back: %w", err, undo)
	}
	return err
}

// written is what city.toml says.
func (m *Move) written() (p config.Placement) {
	for i := range m.City.Agents {
		if a := &m.City.Agents[i]; a.QualifiedName() == m.Agent {
			p = a.Placement()
		}
	}
	return p
}

// back starts the agent where it was.
func (m *Move) back(ctx context.Context, why error) error {
	if err := m.again(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("%w: %w; and cannot start it again: %w", ErrStays, why, err)
	}
	return fmt.Errorf("%w: %w", ErrStays, why)
}
