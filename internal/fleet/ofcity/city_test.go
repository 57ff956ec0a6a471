package ofcity

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// controller is a city in memory behind a real socket.
type controller struct {
	api.City
	feed api.Feed

	mu     sync.Mutex
	status api.Status
	needs  []api.Attention
	nudges []session.Nudge
	events []api.Event
	done   []string
}

func (c *controller) did(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, what)
}

func (c *controller) Status(context.Context) (api.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status, nil
}

func (c *controller) Attention(context.Context) ([]api.Attention, error) { return c.needs, nil }
func (c *controller) Nudges(context.Context) ([]session.Nudge, error)    { return c.nudges, nil }
func (c *controller) Feed() *api.Feed                                    { return &c.feed }
func (c *controller) Events(after uint64) ([]api.Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.events), func(e api.Event) bool { return e.Seq <= after }), nil
}

func (c *controller) Queue(_ context.Context, r api.QueueRequest) (session.Nudge, error) {
	c.did("queue " + r.Agent + ": " + r.Text)
	return session.Nudge{ID: "9", Agent: r.Agent, Text: r.Text, State: session.NudgeQueued}, nil
}

func (c *controller) DropNudge(_ context.Context, id string) error { c.did("drop " + id); return nil }
func (c *controller) Restart(_ context.Context, agents []string) error {
	c.did("restart " + strings.Join(agents, " "))
	return nil
}

// happen changes the status and says so by an event.
func (c *controller) happen(change func(*api.Status)) {
	c.mu.Lock()
	change(&c.status)
	c.status.Seq++
	e := api.Event{Seq: c.status.Seq, Kind: api.EventStatus, Agent: "rig/coder", Time: time.Now()}
	c.events = append(c.events, e)
	c.mu.Unlock()
	c.feed.Add(e)
}

func city(t *testing.T) (*controller, *fleetfake.Fleet, *City) {
	t.Helper()
	ctl := &controller{status: api.Status{
		City: "town", Rigs: []api.RigStatus{{Name: "rig"}},
		Agents: []api.AgentStatus{
			{Name: "rig/coder", Session: "gc-town-coder", State: api.StateRunning, Activity: "working", ActivityInfo: &runtime.Activity{
				State: "blocked", Kind: "question", Pending: &runtime.Interaction{RequestID: "q1", Prompt: "Go on?", Options: []string{"Yes", "No"}, Metadata: map[string]string{"context": "lines", "marked": "Yes"}},
			}},
			{Name: "far", Session: "gc-town-far", State: api.StateQuarantined, Host: "ssh://build"},
		},
	}, needs: []api.Attention{{ID: "dead-letter/7", Kind: "dead-letter", Agent: "far", Text: "given up"}},
		nudges: []session.Nudge{{ID: "7", Agent: "far", Text: "hello", State: session.NudgeDead}, {ID: "8", Agent: "rig/coder", State: session.NudgeQueued}}}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".gc"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := api.Serve(dir, ctl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ctl.feed.Close(); s.Close() })
	sessions := &fleetfake.Fleet{Receipt: fleet.Receipt{State: fleet.Submitted}}
	c := Open(dir, sessions)
	t.Cleanup(func() { c.Close() })
	return ctl, sessions, c
}

// watch returns the snapshots of a city, one by one.
func watch(t *testing.T, c *City) func(want func(fleet.Snapshot) bool) fleet.Snapshot {
	ctx, cancel := context.WithCancel(context.Background())
	shown, ended := make(chan fleet.Snapshot, 100), make(chan struct{})
	go func() { defer close(ended); c.Watch(ctx, func(s fleet.Snapshot) { shown <- s }) }()
	t.Cleanup(func() { cancel(); <-ended })
	return func(want func(fleet.Snapshot) bool) fleet.Snapshot {
		t.Helper()
		timeout := time.After(20 * time.Second)
		for {
			select {
			case s := <-shown:
				if want(s) {
					return s
				}
			case <-timeout:
				t.Fatal("no such snapshot")
			}
		}
	}
}

func TestSnapshotIsPushed(t *testing.T) {
	ctl, _, c := city(t)
	until := watch(t, c)
	s := until(func(s fleet.Snapshot) bool { return s.Lost == "" })
	a := s.Agents[0]
	if a.Rig != "rig" || a.Status != "blocked" || a.Question == nil || a.Question.Context != "lines" || a.Question.Marked != "Yes" || a.Queued != 1 {
		t.Errorf("%+v", a)
	}
	if s.Attention[0].Message != "7" || len(s.Messages) != 2 || s.Name != "town" || !slices.Contains(s.Agents[1].Can, fleet.Start) {
		t.Errorf("%+v", s)
	}
	ctl.happen(func(st *api.Status) { st.Agents = st.Agents[:1]; st.Agents[0].State = api.StateCrashed })
	until(func(s fleet.Snapshot) bool { return len(s.Agents) == 1 && s.Agents[0].State == "crashed" })
}

func TestLostControllerIsSaid(t *testing.T) {
	c := Open(t.TempDir(), &fleetfake.Fleet{})
	defer c.Close()
	s := watch(t, c)(func(s fleet.Snapshot) bool { return s.Lost != "" })
	if s.LostSince.IsZero() || !strings.Contains(s.Lost, "gc start") {
		t.Errorf("%+v", s)
	}
	if err := c.Do(t.Context(), "a", fleet.Restart); !errors.Is(err, fleet.ErrAway) {
		t.Error(err)
	}
}

func TestAgentsAreReachedByTheirSessions(t *testing.T) {
	ctl, sessions, c := city(t)
	sessions.Attached = func(id string, _ fleet.AttachOptions, conn io.ReadWriteCloser) {
		io.WriteString(conn, "terminal of "+id)
	}
	term, err := c.Attach(t.Context(), "rig/coder", fleet.AttachOptions{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, err := term.Read(buf); err != nil || string(buf[:n]) != "terminal of gc-town-coder" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	term.Close()
	for _, err := range []error{
		c.Answer(t.Context(), "rig/coder", fleet.Answer{Request: "q1", Option: "Yes"}),
		c.Do(t.Context(), "rig/coder", fleet.Interrupt), c.Do(t.Context(), "far", fleet.Restart), c.RetryMessage(t.Context(), "7"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if r, err := c.Nudge(t.Context(), "rig/coder", "hi"); err != nil || r.State != fleet.Submitted {
		t.Errorf("%+v, %v", r, err)
	}
	want := []string{"answer gc-town-coder: Yes", "interrupt gc-town-coder", "nudge gc-town-coder: hi"}
	if got := sessions.Done(); !slices.Equal(got, want) {
		t.Errorf("sessions: %q", got)
	}
	if !slices.Equal(ctl.done, []string{"restart far", "queue far: hello", "drop 7"}) {
		t.Errorf("controller: %q", ctl.done)
	}
	if _, err := c.Attach(t.Context(), "nobody", fleet.AttachOptions{}); !errors.Is(err, fleet.ErrNotFound) {
		t.Error(err)
	}
}

func TestScreensHaveTheNamesOfAgents(t *testing.T) {
	_, sessions, c := city(t)
	sessions.Show("gc-town-coder", screens.Screen{State: screens.Running, Revision: 5, Cols: 10, Rows: 2})
	v, err := c.Screens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := v.Look([]screens.Look{{ID: "rig/coder"}, {ID: "far"}}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]screens.Update{}
	for len(seen) < 2 {
		u, err := v.Next()
		if err != nil {
			t.Fatal(err)
		}
		seen[u.ID] = u
	}
	if seen["rig/coder"].Revision != 5 || seen["far"].State != screens.Gone || seen["far"].Why == "" {
		t.Errorf("%+v", seen)
	}
}

// TestScreensFollowAgents: a viewer that looks at an agent sees the session that the agent has now.
func TestScreensFollowAgents(t *testing.T) {
	ctl, sessions, c := city(t)
	sessions.Show("gc-town-coder", screens.Screen{State: screens.Running, Revision: 5})
	sessions.Show("another", screens.Screen{State: screens.Running, Revision: 6})
	until := watch(t, c)
	until(func(s fleet.Snapshot) bool { return s.Lost == "" })
	v, err := c.Screens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := v.Look([]screens.Look{{ID: "rig/coder"}}); err != nil {
		t.Fatal(err)
	}
	if u, err := v.Next(); err != nil || u.Revision != 5 {
		t.Fatalf("%+v, %v", u, err)
	}
	ctl.happen(func(st *api.Status) { st.Agents[0].Session = "another" })
	if u, err := v.Next(); err != nil || u.ID != "rig/coder" || u.Revision != 6 {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestEventsGoOn(t *testing.T) {
	ctl, _, c := city(t)
	ctl.happen(func(*api.Status) {})
	ctl.happen(func(*api.Status) {})
	var ids []string
	stop := errors.New("enough")
	err := c.Events(t.Context(), "1", func(e fleet.Event) error { ids = append(ids, e.ID); return stop })
	if !errors.Is(err, stop) || !slices.Equal(ids, []string{"2"}) {
		t.Errorf("%q, %v", ids, err)
	}
}
