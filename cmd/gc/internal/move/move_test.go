package move

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/internal/carry"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/runtime"
)

// fake is a controller with the agent a, which ends one event after its drain.
type fake struct {
	calls   []string
	state   cityapi.State
	idle    bool
	done    bool
	held    bool   // suspended by a person
	talks   string // the conversation that it would resume
	refuses error  // Reload's
}

func (f *fake) Status(context.Context) (cityapi.Status, error) {
	ag := cityapi.AgentStatus{Name: "a", State: f.state, Error: "its machine is away"}
	if f.idle {
		ag.Activity = runtime.ActivityIdle
	}
	ag.Conversation = f.talks
	if f.done {
		ag.Activity = runtime.ActivityDone
	}
	if f.held {
		ag.SuspendedBy = cityapi.ByAgent
	}
	return cityapi.Status{Seq: 1, Agents: []cityapi.AgentStatus{ag}}, nil
}

func (f *fake) StopAgents(_ context.Context, agents ...string) error {
	f.calls = append(f.calls, "stop "+agents[0])
	f.state = cityapi.StateStopped
	return nil
}

func (f *fake) Resume(_ context.Context, agents ...string) error {
	f.calls = append(f.calls, "resume "+agents[0])
	return nil
}

func (f *fake) Events(_ context.Context, after uint64, _ bool, fn func(cityapi.Event) error) error {
	f.calls = append(f.calls, "wait")
	if f.state == cityapi.StateDraining {
		f.state = cityapi.StateStopped
	}
	return fn(cityapi.Event{Seq: after + 1})
}

func (f *fake) Drain(_ context.Context, agents ...string) error {
	f.calls = append(f.calls, "drain "+agents[0])
	if f.state == cityapi.StateRunning {
		f.state = cityapi.StateDraining
	}
	return nil
}

func (f *fake) Undrain(_ context.Context, agents ...string) error {
	f.calls = append(f.calls, "undrain "+agents[0])
	return nil
}

func (f *fake) Reload(context.Context) error {
	f.calls = append(f.calls, "reload")
	err := f.refuses
	f.refuses = nil
	return err
}

func (f *fake) CarryConversation(_ context.Context, q cityapi.CarriedConversation) error {
	f.calls = append(f.calls, "conversation "+q.Conversation)
	return nil
}

const city = "[workspace]\nname = \"c\"\n[[agents]]\nname = \"a\"\n"

// newMove is a move of a to another provider, and where it is and goes to.
func newMove(t *testing.T, f *fake) (m *Move, from, to string) {
	t.Helper()
	dir := t.TempDir()
	from, to = t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(city), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{"native": from, "exec:/there": to}
	return &Move{
		City: c, Controller: f, Agent: "a", From: config.Placement{Session: "native"}, To: config.Placement{Session: "exec:/there"}, Carry: Files,
		Place: func(_ context.Context, p config.Placement) (carry.Place, error) {
			return carry.Place{Run: spawn.Run, Dir: places[p.Session], Env: os.Environ()}, nil
		},
	}, from, to
}

func (m *Move) text(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(m.City.File)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMove(t *testing.T) {
	f := &fake{state: cityapi.StateRunning}
	m, from, to := newMove(t, f)
	if err := os.WriteFile(filepath.Join(from, "work"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"drain a", "wait", "reload", "undrain a"}; !slices.Equal(f.calls, want) {
		t.Errorf("%q, want %q", f.calls, want)
	}
	if text := m.text(t); text != city+"session = \"exec:/there\"\n" {
		t.Errorf("city.toml:\n%s", text)
	}
	for _, dir := range []string{from, to} {
		if b, err := os.ReadFile(filepath.Join(dir, "work")); err != nil || string(b) != "x" {
			t.Errorf("%s: %q, %v", dir, b, err)
		}
	}
}

// TestEnds: an agent that is idle is not waited for, and one that a person suspended stays
// down.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		f    fake
		want []string
	}{
		{fake{state: cityapi.StateRunning, idle: true}, []string{"stop a", "reload", "resume a"}},
		{fake{state: cityapi.StateRunning, done: true}, []string{"stop a", "reload", "resume a"}},
		{fake{state: cityapi.StateSuspended, held: true}, []string{"reload"}},
		{fake{state: cityapi.StateStopped}, []string{"drain a", "reload", "undrain a"}},
	} {
		m, _, _ := newMove(t, &c.f)
		if err := m.Run(t.Context()); err != nil {
			t.Errorf("%q: %v", c.want, err)
		}
		if !slices.Equal(c.f.calls, c.want) {
			t.Errorf("%q, want %q", c.f.calls, c.want)
		}
	}
}

// TestStays: after a failure at any step the agent starts where it was.
func TestStays(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, m *Move, f *fake, to string)
		want    string
		calls   []string
	}{
		"the machine is away": {
			func(_ *testing.T, m *Move, _ *fake, _ string) {
				m.Place = func(context.Context, config.Placement) (carry.Place, error) { return carry.Place{}, errors.New("away") }
			}, "away", nil,
		},
		"its own machine is away": {
			func(_ *testing.T, _ *Move, f *fake, _ string) { f.state = cityapi.StateUnknown },
			"cannot tell", []string{"drain a", "undrain a"},
		},
		"files are there": {
			func(t *testing.T, _ *Move, _ *fake, to string) {
				if err := os.WriteFile(filepath.Join(to, "other"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}, carry.ErrConflict.Error(), []string{"drain a", "wait", "undrain a"},
		},
		"the controller refuses it": {
			func(_ *testing.T, _ *Move, f *fake, _ string) { f.refuses = errors.New("not this one") },
			"not this one", []string{"drain a", "wait", "reload", "reload", "undrain a"},
		},
	} {
		f := &fake{state: cityapi.StateRunning}
		m, _, to := newMove(t, f)
		c.prepare(t, m, f, to)
		if err := m.Run(t.Context()); !errors.Is(err, ErrStays) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(f.calls, c.calls) {
			t.Errorf("%s: %q, want %q", name, f.calls, c.calls)
		}
		if text := m.text(t); text != city {
			t.Errorf("%s: city.toml:\n%s", name, text)
		}
	}
}

// TestConversationMoves: the agent resumes a conversation that was copied, and says when it
// begins another.
func TestConversationMoves(t *testing.T) {
	for name, c := range map[string]struct {
		keeps carry.Conversation
		file  string // at the source
		want  string
		said  string
	}{
		"copied":           {carry.Conversation{Dir: "$STATE", Files: "{id}.log"}, "7.log", "conversation 7", ""},
		"no files":         {carry.Conversation{Dir: "$STATE", Files: "{id}.log"}, "8.log", "", "no files"},
		"an unknown place": {carry.Conversation{}, "7.log", "", "does not know"},
	} {
		f := &fake{state: cityapi.StateStopped, talks: "7"}
		m, _, _ := newMove(t, f)
		state := map[string]string{"native": t.TempDir(), "exec:/there": t.TempDir()}
		place := m.Place
		m.Place = func(ctx context.Context, p config.Placement) (carry.Place, error) {
			there, err := place(ctx, p)
			there.Env = append(there.Env, "STATE="+state[p.Session])
			return there, err
		}
		m.Keeps = c.keeps
		said := ""
		m.Say = func(step string) { said += step + "\n" }
		if err := os.WriteFile(filepath.Join(state["native"], c.file), []byte("said"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := m.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err := os.Stat(filepath.Join(state["exec:/there"], c.file))
		if got := slices.Contains(f.calls, "conversation 7"); got != (c.want != "") || (err == nil) != got {
			t.Errorf("%s: %q, the file there: %v", name, f.calls, err)
		}
		if !strings.Contains(said, c.said) || strings.Contains(said, "begins a new") != (c.said != "") {
			t.Errorf("%s: said %q", name, said)
		}
	}
}
