package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/session"
)

// Agents and sessions of drawn cities: each agent may have its own session, those
// of the others, and some of older names.
var (
	someAgents   = []string{"a", "b", "c"}
	someSessions = []string{"s-a", "s-b", "s-c", "old-a", "old-b", "x"}
)

func drawHashes(t *rapid.T, label string) agent.Hashes {
	return hashesOf(rapid.SampledFrom([]string{"0", "1"}).Draw(t, label))
}

func drawDesired(t *rapid.T) Desired {
	d := Desired{Run: "run", MaxStarts: rapid.IntRange(0, 4).Draw(t, "max starts"), DriftDrain: 2 * time.Minute}
	for i, name := range someAgents {
		if !rapid.Bool().Draw(t, "wants "+name) {
			continue
		}
		w := wanted(name)
		w.OneShot = rarely(t, "one_shot")
		w.Suspended = rarely(t, "suspended")
		w.CanRelaunch = rapid.Bool().Draw(t, "relaunch")
		w.DependsOn = someAgents[:rapid.IntRange(0, i).Draw(t, "dependencies")]
		if rarely(t, "pool") {
			w.WaitsFor = "pool"
		}
		if rapid.Bool().Draw(t, "idle timeout") {
			w.IdleTimeout = time.Minute
		}
		d.Agents = append(d.Agents, w)
	}
	return d
}

// rarely is true for one draw in six.
func rarely(t *rapid.T, label string) bool { return rapid.IntRange(0, 5).Draw(t, label) == 5 }

func drawTime(t *rapid.T, label string) time.Time {
	if rapid.Bool().Draw(t, "no "+label) {
		return time.Time{}
	}
	return noon.Add(time.Duration(rapid.IntRange(-300, 300).Draw(t, label)) * time.Second)
}

func drawSeen(t *rapid.T, name string) Seen {
	s := Seen{
		Session:  name,
		Agent:    strings.TrimPrefix(name, "s-"),
		Occupant: rapid.SampledFrom(append([]string{""}, someAgents...)).Draw(t, "occupant"),
		Presence: Presence(rapid.IntRange(0, 3).Draw(t, "presence")),
		Owned:    rapid.Bool().Draw(t, "owned"), Held: rarely(t, "held"), Attached: rapid.Bool().Draw(t, "attached"),
		Working: rapid.Bool().Draw(t, "working"), Expected: rapid.Bool().Draw(t, "expected"), RestartAsked: rapid.Bool().Draw(t, "restart"),
		Hashes: drawHashes(t, "hashes"), LastActivity: drawTime(t, "activity"), Asked: drawTime(t, "asked"),
	}
	if !strings.HasPrefix(name, "s-") || rarely(t, "odd") {
		s.Agent = rapid.SampledFrom(append([]string{""}, someAgents...)).Draw(t, "agent")
	}
	if s.Busy = rarely(t, "busy"); s.Busy {
		s.Starting = rapid.Bool().Draw(t, "starting")
	}
	if rapid.Bool().Draw(t, "draining") {
		s.Drain = Drain{Since: drawTime(t, "drain"), Why: WhyDrift, Limit: time.Minute, Ack: rapid.Bool().Draw(t, "ack")}
	}
	s.Record = session.Record{
		Stopped: rarely(t, "stopped"), Suspended: rarely(t, "suspended by a person"),
		IdleStopped: rarely(t, "idle-stopped"), Drained: rarely(t, "drained"),
		Crashed: rapid.Bool().Draw(t, "crashed"), RetryAt: drawTime(t, "retry"),
	}
	if rarely(t, "ran") {
		s.Record.Job = session.Job{Run: "run", Hash: "core 1", Done: rapid.Bool().Draw(t, "done")}
	}
	return s
}

func drawActual(t *rapid.T) Actual {
	var a Actual
	for _, name := range someSessions {
		if rapid.Bool().Draw(t, "has "+name) {
			a.Sessions = append(a.Sessions, drawSeen(t, name))
		}
	}
	return a
}

func sortedPlan(d Desired, a Actual) []Action {
	acts := Make(d, a, noon)
	slices.SortFunc(acts, func(x, y Action) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
	return acts
}

// Whatever is wanted and whatever was seen, the plan does no harm.
func TestPlanDoesNoHarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, a := drawDesired(t), drawActual(t)
		bySession := map[string]Seen{}
		running, starting := map[string][]string{}, 0
		for _, s := range a.Sessions {
			bySession[s.Session] = s
			if s.Starting {
				starting++
			}
			if s.mayRun() {
				running[s.runs()] = append(running[s.runs()], s.Session)
			}
		}
		ends, starts := map[string]Kind{}, 0
		for _, act := range Make(d, a, noon) {
			s, seen := bySession[act.Session]
			switch {
			case !seen || s.Busy || s.Presence == Unknown:
				t.Fatalf("%+v of what is busy or unknown: %+v", act, s)
			case s.Presence != Gone && !s.Owned:
				t.Fatalf("%+v of another's session", act)
			}
			wanted := slices.ContainsFunc(d.Agents, func(w Wanted) bool { return w.Name == s.Agent && w.Session == s.Session })
			if s.Held && !wanted {
				t.Fatalf("%+v of what a pool may want", act)
			}
			switch act.Kind {
			case ActStart:
				starts++
				if s.Presence != Gone || !wanted {
					t.Fatalf("started %+v", s)
				}
				if others := running[act.Agent]; len(others) > 0 {
					t.Fatalf("%s is started and may run in %v", act.Agent, others)
				}
			case ActStop, ActDrain, ActRelaunch:
				if ends[act.Session] != "" {
					t.Fatalf("%s and %s of %s", ends[act.Session], act.Kind, act.Session)
				}
				ends[act.Session] = act.Kind
			}
		}
		if starts > max(0, d.MaxStarts-starting) {
			t.Fatalf("%d starts, %d are in flight, at most %d", starts, starting, d.MaxStarts)
		}
	})
}

// The plan depends on nothing but its input: the order of sessions does not
// matter, and the input stays as it is.
func TestPlanIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, a := drawDesired(t), drawActual(t)
		d.MaxStarts = len(d.Agents) + len(a.Sessions)
		before := Actual{Sessions: slices.Clone(a.Sessions)}
		first := sortedPlan(d, a)
		if diff := cmp.Diff(before, a); diff != "" {
			t.Fatalf("the input was changed:\n%s", diff)
		}
		shuffled := Actual{Sessions: rapid.Permutation(a.Sessions).Draw(t, "order")}
		if diff := cmp.Diff(first, sortedPlan(d, shuffled)); diff != "" {
			t.Fatalf("another order, another plan:\n%s", diff)
		}
	})
}

// carryOut does what the plan says in a world where everything succeeds at once,
// and agents agree to end.
func carryOut(a *Actual, w map[string]Wanted, acts []Action, now time.Time) {
	for _, act := range acts {
		i := slices.IndexFunc(a.Sessions, func(s Seen) bool { return s.Session == act.Session })
		s := &a.Sessions[i]
		switch act.Kind {
		case ActStart, ActRelaunch, ActRunLive:
			s.Presence, s.Owned, s.Hashes, s.Record.Crashed, s.Record.RetryAt = Alive, true, w[act.Agent].Hashes, false, time.Time{}
			s.Occupant = ""
		case ActStop:
			s.Presence, s.Occupant, s.Drain, s.RestartAsked, s.Hashes = Gone, "", Drain{}, false, agent.Hashes{}
		case ActDrain:
			s.Drain = Drain{Since: now, Why: act.Why, Limit: act.Limit, Ack: true}
		case ActCancelDrain:
			s.Drain = Drain{}
		case ActLook:
			s.Asked = now
		}
	}
}

// A city whose sessions were renamed becomes stable: each wanted agent runs
// once, under its name, and nothing else of the city runs. On the way no agent
// runs twice unless it did at the beginning.
func TestPlanCompletesRenames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Desired{Run: "run", MaxStarts: rapid.IntRange(1, 3).Draw(t, "max starts"), DriftDrain: 2 * time.Minute}
		w := map[string]Wanted{}
		var a Actual
		for _, name := range someAgents {
			w[name] = wanted(name)
			d.Agents = append(d.Agents, w[name])
			a.Sessions = append(a.Sessions, Seen{Agent: name, Session: "s-" + name, Presence: Gone})
		}
		for i, name := range someSessions {
			if !rapid.Bool().Draw(t, "runs "+name) {
				continue
			}
			runs := rapid.SampledFrom(someAgents).Draw(t, "agent")
			if i < len(someAgents) {
				s := &a.Sessions[i]
				s.Presence, s.Owned, s.Hashes = Alive, true, drawHashes(t, "hashes")
				if runs != s.Agent {
					s.Occupant = runs
				}
				continue
			}
			a.Sessions = append(a.Sessions, Seen{Session: name, Presence: Alive, Owned: true, Occupant: runs})
		}
		count := func() map[string]int {
			n := map[string]int{}
			for _, s := range a.Sessions {
				if s.Presence == Alive {
					n[s.runs()]++
				}
			}
			return n
		}
		before, now := count(), noon
		for range 30 {
			now = now.Add(time.Second)
			carryOut(&a, w, Make(d, a, now), now)
			for name, n := range count() {
				if n > max(1, before[name]) {
					t.Fatalf("%s runs %d times: %+v", name, n, a.Sessions)
				}
			}
			before = count()
		}
		for _, s := range a.Sessions {
			switch {
			case s.Agent != "" && (s.Presence != Alive || s.runs() != s.Agent || s.Hashes != w[s.Agent].Hashes || !s.Drain.Since.IsZero()):
				t.Fatalf("not as wanted: %+v", s)
			case s.Agent == "" && s.Presence != Gone:
				t.Fatalf("still there: %+v", s)
			}
		}
	})
}

func TestTwoSessionsOfOneAgent(t *testing.T) {
	a := wanted("a")
	twice := []Seen{seen("a", Gone), {Session: "old-a", Occupant: "a", Presence: Alive, Owned: true}}
	for range 2 {
		got := plan(Desired{Agents: []Wanted{a}}, twice...)
		if diff := cmp.Diff([]string{"drain old-a: its session has another name now <2m0s"}, got); diff != "" {
			t.Errorf("one runs elsewhere (-want +got):\n%s", diff)
		}
		slices.Reverse(twice)
	}
	both := []Seen{seen("a", Alive), with(seen("a", Alive), func(s *Seen) { s.Session = "old-a" })}
	for range 2 {
		got := plan(Desired{Agents: []Wanted{a}}, both...)
		if diff := cmp.Diff([]string{"drain a: its session has another name now <2m0s"}, got); diff != "" {
			t.Errorf("both run (-want +got):\n%s", diff)
		}
		slices.Reverse(both)
	}
}

// Of the nudges for one agent at most one is delivered, the first that may be; none
// to an agent that is not ready; and those that are fenced are given up.
func TestDeliveriesKeepTheOrder(t *testing.T) {
	states := []session.NudgeState{session.NudgeQueued, session.NudgeDelivering, session.NudgeDelivered, session.NudgeDead}
	rapid.Check(t, func(t *rapid.T) {
		to := map[string]Recipient{}
		for _, name := range someAgents {
			to[name] = Recipient{
				ID:    rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "runs"),
				Ready: rapid.Bool().Draw(t, "ready"), Foreign: rapid.Bool().Draw(t, "foreign"),
			}
		}
		var queue []*session.Nudge
		for i := range rapid.IntRange(0, 12).Draw(t, "nudges") {
			queue = append(queue, &session.Nudge{
				ID: fmt.Sprint(i), Agent: rapid.SampledFrom(append(someAgents, "none")).Draw(t, "to"),
				State: rapid.SampledFrom(states).Draw(t, "state"), SessionID: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "for"),
				Expires: noon.Add(time.Duration(rapid.IntRange(-5, 60).Draw(t, "expires")) * time.Second), NotBefore: drawTime(t, "not before"),
			})
		}
		out, next := Deliveries(queue, to, noon)
		got := map[string]Kind{}
		for _, d := range out {
			got[d.Nudge.ID] = d.Kind
		}
		first := map[string]string{}
		for _, n := range queue {
			fenced := n.Fenced(noon, to[n.Agent].ID, to[n.Agent].Continues) != ""
			kind := got[n.ID]
			switch {
			case n.State != session.NudgeQueued && kind != "":
				t.Fatalf("%s of a nudge that is %s", kind, n.State)
			case n.Open() && fenced != (kind == ActGiveUp):
				t.Fatalf("%q of %+v", kind, n)
			case kind == ActDeliver && (!to[n.Agent].Ready || to[n.Agent].Foreign || n.NotBefore.After(noon)):
				t.Fatalf("delivered %+v to %+v", n, to[n.Agent])
			case n.Open() && !fenced && next.IsZero():
				t.Fatal("nothing will expire it")
			}
			if n.State == session.NudgeDelivering || n.Open() && !fenced {
				if kind == ActDeliver && first[n.Agent] != "" {
					t.Fatalf("%s overtakes %s", n.ID, first[n.Agent])
				}
				first[n.Agent] = n.ID
			}
		}
		if !next.IsZero() && !next.After(noon) {
			t.Fatalf("plans again at %v", next)
		}
	})
}

func TestAdopt(t *testing.T) {
	here := Adopter{City: "/city", Run: "run", Wanted: true}
	claim := Claim{City: "/city", Agent: "a", ID: "id", Token: "token", Epoch: 3, Hashes: hashesOf("1")}
	fresh := Seen{Agent: "a", Session: "s-a"}
	tests := []struct {
		name  string
		by    Adopter
		seen  Seen
		claim Claim
		want  Adoption
		check func(Seen) bool
	}{
		{"another city's", here, fresh, with(claim, func(c *Claim) { c.City = "/other" }), Foreign, func(s Seen) bool { return !s.Owned && s.Record.ID == "" }},
		{"without a mark", here, fresh, Claim{}, Foreign, func(s Seen) bool { return !s.Owned }},
		{"this city's", here, fresh, claim, Adopted, func(s Seen) bool {
			return s.Owned && s.Record.ID == "id" && s.Record.Token == "token" && s.Record.Epoch == 3 && s.Record.Open
		}},
		{"its epoch never goes back", here, with(fresh, func(s *Seen) { s.Record.Epoch = 7 }), claim, Adopted, func(s Seen) bool { return s.Record.Epoch == 7 }},
		{"known already", here, with(fresh, func(s *Seen) { s.Presence = Alive }), claim, Known, func(s Seen) bool { return !s.Record.Open }},
		{"not wanted", Adopter{City: "/city"}, fresh, claim, Known, func(s Seen) bool { return s.Owned && !s.Record.Open }},
		{"another agent's", here, fresh, with(claim, func(c *Claim) { c.Agent = "b" }), Occupied, func(s Seen) bool { return s.Occupant == "b" && s.Record.ID == "" }},
		{"a start that was cut short", here, fresh, with(claim, func(c *Claim) { c.Hashes = agent.Hashes{} }), Unmarked, func(s Seen) bool { return s.Record.Open }},
		{"processes of another start", here, fresh, with(claim, func(c *Claim) { c.InProcess, c.ProcessEpoch = true, 2 }), Adopted,
			func(s Seen) bool { return s.Record.Token == "" && s.Record.Epoch == 3 }},
		{"a drain of an earlier controller", here, fresh, with(claim, func(c *Claim) { c.Drain = Drain{Since: noon, Limit: time.Minute} }), Adopted,
			func(s Seen) bool { return s.Drain.Since.Equal(noon) }},
		{"a one_shot", with(here, func(a *Adopter) { a.OneShot = true }), fresh, claim, Adopted,
			func(s Seen) bool { return s.Record.Job == session.Job{Run: "run", Hash: "core 1"} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if s, got := Adopt(tt.by, tt.seen, tt.claim); got != tt.want || !tt.check(s) {
				t.Errorf("adoption %d, want %d: %+v", got, tt.want, s)
			}
		})
	}
}
