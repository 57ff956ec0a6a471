package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func hashesOf(s string) agent.Hashes {
	return agent.Hashes{Core: "core " + s, Launch: "launch " + s, Provision: "provision " + s, Live: "live " + s}
}

func wanted(name string, deps ...string) Wanted {
	return Wanted{Name: name, Session: "s-" + name, Hashes: hashesOf("1"), DependsOn: deps}
}

func seen(name string, p Presence) Seen {
	s := Seen{Agent: name, Session: "s-" + name, Presence: p, Owned: p == Alive || p == Zombie, Asked: noon}
	if s.Owned {
		s.Hashes = hashesOf("1")
	}
	return s
}

// plan runs Plan over pairs and shows each action in one line.
func plan(d Desired, sessions ...Seen) []string {
	if d.MaxStarts == 0 {
		d.MaxStarts = 8
	}
	if d.Run == "" {
		d.Run = "run"
	}
	if d.DriftDrain == 0 {
		d.DriftDrain = 2 * time.Minute
	}
	var out []string
	for _, a := range Make(d, Actual{Sessions: sessions}, noon) {
		who := a.Agent
		if who == "" {
			who = a.Session
		}
		line := fmt.Sprintf("%s %s: %s", a.Kind, who, a.Why)
		if a.Kind == ActWait {
			line += " +" + a.At.Sub(noon).String()
		}
		if a.Kind == ActDrain {
			line += " <" + a.Limit.String()
		}
		out = append(out, line)
	}
	return out
}

// with changes a copy of a value.
func with[T any](v T, change func(*T)) T {
	change(&v)
	return v
}

func TestPlanRules(t *testing.T) {
	rec := func(change func(*session.Record)) func(*Seen) { return func(s *Seen) { change(&s.Record) } }
	a := wanted("a")
	job := with(a, func(w *Wanted) { w.OneShot = true })
	tests := []struct {
		name string
		want []Wanted
		seen []Seen
		plan []string
	}{
		{"not running is started", []Wanted{a}, []Seen{seen("a", Gone)}, []string{"start a: not running"}},
		{"running as wanted is left alone", []Wanted{a}, []Seen{seen("a", Alive)}, nil},
		{"unknown is not dead", []Wanted{a}, []Seen{seen("a", Unknown)}, nil},
		{"busy is left alone", []Wanted{a}, []Seen{with(seen("a", Gone), func(s *Seen) { s.Busy = true })}, nil},
		{"not looked at yet", []Wanted{a}, nil, nil},
		{"somebody else's session has the name", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) { s.Owned = false })}, nil},

		{"crashed is restarted", []Wanted{a}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.LastExit, r.Crashed = &runtime.Exit{Code: 1}, true }))}, []string{"start a: crashed"}},
		{"a requested end is not a crash", []Wanted{a}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.LastExit = &runtime.Exit{Code: 1} }))}, []string{"start a: not running"}},
		{"quarantined waits", []Wanted{a}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.Tries, r.RetryAt = 2, noon.Add(2*time.Second) }))}, []string{"wait a: quarantined +2s"}},
		{"back-off passed", []Wanted{a}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.Tries, r.RetryAt = 2, noon }))}, []string{"start a: not running"}},
		{"clock set back: no wait longer than a back-off", []Wanted{a}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.Tries, r.RetryAt = 2, noon.Add(time.Hour) }))}, []string{"start a: not running"}},
		{"zombie is stopped first", []Wanted{a}, []Seen{seen("a", Zombie)}, []string{"stop a: its process is gone"}},

		{"a zombie with an old config is stopped, not drained", []Wanted{a},
			[]Seen{with(seen("a", Zombie), func(s *Seen) { s.Hashes = hashesOf("0") })}, []string{"stop a: its process is gone"}},
		{"a zombie that a person stopped", []Wanted{a}, []Seen{with(seen("a", Zombie), rec(func(r *session.Record) { r.Stopped = true }))},
			[]string{"stop a: stopped by a person"}},
		{"a quarantined agent that a person stopped waits for nothing", []Wanted{a},
			[]Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.Tries, r.RetryAt, r.Stopped = 2, noon.Add(time.Second), true }))}, nil},

		{"suspended is drained", []Wanted{with(a, func(w *Wanted) { w.Suspended = true })}, []Seen{seen("a", Alive)}, []string{"drain a: suspended <2m0s"}},
		{"suspended stays down", []Wanted{with(a, func(w *Wanted) { w.Suspended = true })}, []Seen{seen("a", Gone)}, nil},
		{"suspended by a person", []Wanted{a}, []Seen{with(seen("a", Alive), rec(func(r *session.Record) { r.Suspended = true }))}, []string{"drain a: suspended <2m0s"}},
		{"a suspended zombie needs no drain", []Wanted{with(a, func(w *Wanted) { w.Suspended = true })}, []Seen{seen("a", Zombie)}, []string{"stop a: suspended"}},
		{"stopped by a person stays down", []Wanted{a}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.Stopped = true }))}, nil},
		{"stopped by a person is ended", []Wanted{a}, []Seen{with(seen("a", Alive), rec(func(r *session.Record) { r.Stopped = true }))}, []string{"stop a: stopped by a person"}},
		{"put to sleep stays down", []Wanted{a}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.IdleStopped = true }))}, nil},

		{"one_shot is started", []Wanted{job}, []Seen{seen("a", Gone)}, []string{"start a: not running"}},
		{"one_shot that ran is done", []Wanted{job}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.Job = session.Job{Run: "run", Hash: "core 1", Done: true} }))}, nil},
		{"one_shot that failed is not restarted", []Wanted{job}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.Job = session.Job{Run: "run", Hash: "core 1", Done: true, Code: 3} }))}, nil},
		{"one_shot again for the next gc start", []Wanted{job}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.Job = session.Job{Run: "older", Hash: "core 1", Done: true} }))}, []string{"start a: not running"}},
		{"one_shot again for another config", []Wanted{job}, []Seen{with(seen("a", Gone), rec(func(r *session.Record) { r.Job = session.Job{Run: "run", Hash: "core 0", Done: true} }))}, []string{"start a: not running"}},

		{"core drift is drained", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes = hashesOf("0") })}, []string{"drain a: its config changed <2m0s"}},
		{"core drift waits for the person attached", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes, s.Attached = hashesOf("0"), true })}, nil},
		{"core drift asks first who is attached", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes, s.Asked = hashesOf("0"), time.Time{} })}, []string{"look a: its config changed"}},
		{"an unknown hash does not count as drift", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes = agent.Hashes{} })}, nil},
		{"launch drift is relaunched", []Wanted{with(a, func(w *Wanted) { w.CanRelaunch = true })},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes.Core, s.Hashes.Launch = "core 0", "launch 0" })}, []string{"relaunch a: its command changed"}},
		{"launch drift waits for the person attached", []Wanted{with(a, func(w *Wanted) { w.CanRelaunch = true })},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes.Core, s.Hashes.Launch, s.Attached = "core 0", "launch 0", true })}, nil},
		{"a drain for drift is not turned into a relaunch", []Wanted{with(a, func(w *Wanted) { w.CanRelaunch = true })},
			[]Seen{with(seen("a", Alive), func(s *Seen) {
				s.Hashes.Core, s.Hashes.Launch, s.Drain = "core 0", "launch 0", Drain{Since: noon, Why: WhyDrift, Limit: time.Minute}
			})}, []string{"wait a: its config changed +1m0s"}},
		{"a one_shot at work with an old config is drained", []Wanted{job},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes = hashesOf("0") })}, []string{"drain a: its config changed <2m0s"}},
		{"live drift of one with core drift comes with its restart", []Wanted{a},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes.Core, s.Hashes.Live = "core 0", "live 0" })}, []string{"drain a: its config changed <2m0s"}},
		{"launch drift without relaunch is drained", []Wanted{a},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes.Core, s.Hashes.Launch = "core 0", "launch 0" })}, []string{"drain a: its config changed <2m0s"}},
		{"provision drift is never relaunched", []Wanted{with(a, func(w *Wanted) { w.CanRelaunch = true })},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes = hashesOf("0") })}, []string{"drain a: its config changed <2m0s"}},
		{"live drift is applied", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) { s.Hashes.Live = "live 0" })}, []string{"run-live a: its live commands changed"}},
		{"it asked for a restart", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) { s.RestartAsked = true })}, []string{"stop a: it asked for a restart"}},

		{"a drain goes on", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) {
			s.Hashes, s.Drain = hashesOf("0"), Drain{Since: noon.Add(-time.Minute), Why: WhyDrift, Limit: 2 * time.Minute}
		})}, []string{"wait a: its config changed +1m0s"}},
		{"a drain ends with its limit", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) {
			s.Hashes, s.Drain = hashesOf("0"), Drain{Since: noon.Add(-2 * time.Minute), Why: WhyDrift, Limit: 2 * time.Minute}
		})}, []string{"stop a: its config changed"}},
		{"a drain ends with the agent's word", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) {
			s.Hashes, s.Drain = hashesOf("0"), Drain{Since: noon, Why: WhyDrift, Limit: 2 * time.Minute, Ack: true}
		})}, []string{"stop a: drained"}},
		{"a drain in progress is not stopped by attaching", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) {
			s.Attached, s.Hashes, s.Drain = true, hashesOf("0"), Drain{Since: noon, Why: WhyDrift, Limit: time.Minute}
		})}, []string{"wait a: its config changed +1m0s"}},
		{"a drain ends when the clock was set back", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) {
			s.Hashes, s.Drain = hashesOf("0"), Drain{Since: noon.Add(time.Hour), Why: WhyDrift, Limit: time.Minute}
		})}, []string{"stop a: its config changed"}},
		{"wanted again cancels the drain", []Wanted{a}, []Seen{with(seen("a", Alive), func(s *Seen) {
			s.Drain = Drain{Since: noon, Why: WhySuspended, Limit: time.Minute}
		})}, []string{"cancel-drain a: wanted again"}},

		{"idle too long is stopped", []Wanted{with(a, func(w *Wanted) { w.IdleTimeout = time.Minute })},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.LastActivity = noon.Add(-time.Minute) })}, []string{"stop a: idle"}},
		{"idle as of an old look", []Wanted{with(a, func(w *Wanted) { w.IdleTimeout = time.Minute })},
			[]Seen{with(seen("a", Alive), func(s *Seen) {
				s.LastActivity, s.Asked = noon.Add(-time.Minute), noon.Add(-time.Second)
			})}, []string{"look a: idle"}},
		{"idle not long enough", []Wanted{with(a, func(w *Wanted) { w.IdleTimeout = time.Minute })},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.LastActivity = noon.Add(-50 * time.Second) })}, []string{"wait a: idle +10s"}},
		{"idle but attached", []Wanted{with(a, func(w *Wanted) { w.IdleTimeout = time.Minute })},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.LastActivity, s.Attached = noon.Add(-time.Hour), true })}, nil},
		{"silent but at work, or waiting for an answer", []Wanted{with(a, func(w *Wanted) { w.IdleTimeout = time.Minute })},
			[]Seen{with(seen("a", Alive), func(s *Seen) { s.LastActivity, s.Working = noon.Add(-time.Hour), true })}, nil},
		{"activity unknown is not idle", []Wanted{with(a, func(w *Wanted) { w.IdleTimeout = time.Minute })}, []Seen{seen("a", Alive)}, nil},

		{"orphan of this city is drained", nil, []Seen{{Session: "o", Presence: Alive, Owned: true}}, []string{"drain o: unknown to city.toml <2m0s"}},
		{"no longer wanted is drained", nil, []Seen{seen("old", Alive)}, []string{"drain old: no longer wanted <2m0s"}},
		{"a pool's member has the pool's time", nil, []Seen{with(seen("old", Alive), func(s *Seen) { s.DrainLimit = time.Hour })},
			[]string{"drain old: no longer wanted <1h0m0s"}},
		{"no longer wanted, and busy", nil, []Seen{with(seen("old", Alive), func(s *Seen) { s.Busy = true })}, nil},
		{"not provably this city's is never touched", nil, []Seen{{Session: "o", Presence: Alive}}, nil},
		{"an orphan may be a pool's, whose size is not known yet", nil, []Seen{{Session: "o", Presence: Alive, Owned: true, Held: true}}, nil},
		{"unknown orphan is left alone", nil, []Seen{{Session: "o", Presence: Unknown, Owned: true}}, nil},
		{"zombie orphan is stopped", nil, []Seen{{Session: "o", Presence: Zombie, Owned: true}}, []string{"stop o: unknown to city.toml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.plan, plan(Desired{Agents: tt.want}, tt.seen...)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanDependencies(t *testing.T) {
	job := with(wanted("job"), func(w *Wanted) { w.OneShot = true })
	done := func(code int) Seen {
		return with(seen("job", Gone), func(s *Seen) {
			s.Record.Job = session.Job{Run: "run", Hash: "core 1", Done: true, Code: code}
		})
	}
	tests := []struct {
		name string
		want []Wanted
		seen []Seen
		plan []string
	}{
		{"the dependency first", []Wanted{wanted("b", "a"), wanted("a")}, []Seen{seen("a", Gone), seen("b", Gone)}, []string{"start a: not running"}},
		{"then the dependent", []Wanted{wanted("b", "a"), wanted("a")}, []Seen{seen("a", Alive), seen("b", Gone)}, []string{"start b: not running"}},
		{"a dependency that is starting is not up", []Wanted{wanted("b", "a"), wanted("a")},
			[]Seen{with(seen("a", Gone), func(s *Seen) { s.Busy, s.Starting = true, true }), seen("b", Gone)}, nil},
		{"a zombie is not up", []Wanted{wanted("b", "a"), wanted("a")}, []Seen{seen("a", Zombie), seen("b", Gone)}, []string{"stop a: its process is gone"}},
		{"a dependency in an unknown state is not up", []Wanted{wanted("b", "a"), wanted("a")}, []Seen{seen("a", Unknown), seen("b", Gone)}, nil},
		{"a quarantined dependency is not up", []Wanted{wanted("b", "a"), wanted("a")},
			[]Seen{with(seen("a", Gone), func(s *Seen) { s.Record.Tries, s.Record.RetryAt = 1, noon.Add(time.Second) }), seen("b", Gone)},
			[]string{"wait a: quarantined +1s"}},
		{"a dependency that sleeps does not block", []Wanted{wanted("b", "a"), wanted("a")},
			[]Seen{with(seen("a", Gone), func(s *Seen) { s.Record.IdleStopped = true }), seen("b", Gone)}, []string{"start b: not running"}},
		{"a pool whose size is not known yet blocks", []Wanted{with(wanted("b", "w"), func(w *Wanted) { w.WaitsFor = "w" })}, []Seen{seen("b", Gone)}, nil},
		{"a pool without members does not", []Wanted{wanted("b", "w")}, []Seen{seen("b", Gone)}, []string{"start b: not running"}},
		{"a one_shot of an older gc start did not succeed", []Wanted{wanted("b", "job"), job},
			[]Seen{with(done(0), func(s *Seen) { s.Record.Job.Run = "older" }), seen("b", Gone)}, []string{"start job: not running"}},
		{"a running dependent is not touched", []Wanted{wanted("b", "a"), wanted("a")}, []Seen{seen("a", Gone), seen("b", Alive)}, []string{"start a: not running"}},
		{"a suspended dependency does not block", []Wanted{wanted("b", "a"), with(wanted("a"), func(w *Wanted) { w.Suspended = true })},
			[]Seen{seen("a", Gone), seen("b", Gone)}, []string{"start b: not running"}},
		{"a one_shot dependency must have succeeded", []Wanted{wanted("b", "job"), job}, []Seen{done(0), seen("b", Gone)}, []string{"start b: not running"}},
		{"one that failed blocks", []Wanted{wanted("b", "job"), job}, []Seen{done(2), seen("b", Gone)}, nil},
		{"one that runs blocks", []Wanted{wanted("b", "job"), job}, []Seen{seen("job", Alive), seen("b", Gone)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.plan, plan(Desired{Agents: tt.want}, tt.seen...)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanStartsInParallelUpToTheLimit(t *testing.T) {
	var want []Wanted
	var have []Seen
	for i := range 5 {
		name := fmt.Sprintf("a%d", i)
		want = append(want, wanted(name))
		have = append(have, seen(name, Gone))
	}
	have[0].Busy, have[0].Starting = true, true
	got := plan(Desired{Agents: want, MaxStarts: 3}, have...)
	if diff := cmp.Diff([]string{"start a1: not running", "start a2: not running"}, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// The order of sessions does not matter, and nothing is planned for an unknown
// one.
func TestPlanIgnoresOrder(t *testing.T) {
	var want []Wanted
	var have []Seen
	for i := range 30 {
		name := fmt.Sprintf("a%d", i)
		w := wanted(name)
		if i > 0 {
			w.DependsOn = []string{fmt.Sprintf("a%d", i/2)}
		}
		want = append(want, w)
		have = append(have, seen(name, Presence(i%4)))
	}
	first := plan(Desired{Agents: want}, have...)
	for range 20 {
		rand.Shuffle(len(have), func(i, j int) { have[i], have[j] = have[j], have[i] })
		if diff := cmp.Diff(first, plan(Desired{Agents: want}, have...)); diff != "" {
			t.Fatalf("another order, another plan:\n%s", diff)
		}
	}
}

func TestPlanThousandUnchangedAgentsIsQuiet(t *testing.T) {
	d := Desired{MaxStarts: 8, Run: "run"}
	var a Actual
	for i := range 1000 {
		name := fmt.Sprintf("a%d", i)
		d.Agents = append(d.Agents, wanted(name))
		a.Sessions = append(a.Sessions, seen(name, Alive))
	}
	if got := Make(d, a, noon); len(got) != 0 {
		t.Errorf("%d actions for an unchanged city: %v", len(got), got[0])
	}
}
