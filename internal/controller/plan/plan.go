// Package plan decides what a city's controller does next: which sessions to
// start, stop, drain, relaunch or adopt, and which messages to deliver.
//
// Its invariant: it is pure. It performs no I/O and reads no clock but the time it
// is given; the same input gives the same actions. It never acts on a session
// whose state is unknown, or that is not provably this city's. It serves the
// controller, which observes the city and carries the actions out.
package plan

import (
	"cmp"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/session"
)

// Kind says what an action does.
type Kind string

// The actions.
const (
	ActStart       Kind = "start"
	ActStop        Kind = "stop"         // end the session now
	ActDrain       Kind = "drain"        // ask it to end; ActStop follows
	ActCancelDrain Kind = "cancel-drain" // the session is wanted again
	ActRelaunch    Kind = "relaunch"     // restart the agent inside its running session
	ActRunLive     Kind = "run-live"     // run the live commands again
	ActWait        Kind = "wait"         // nothing to do before At
	ActLook        Kind = "look"         // observe it again before acting on it
)

// Why an action is taken.
const (
	WhyNew       = "not running"
	WhyCrashed   = "crashed"
	WhyZombie    = "its process is gone"
	WhyStuck     = "it is stuck"
	WhyDrift     = "its config changed"
	WhyLaunch    = "its command changed"
	WhyLive      = "its live commands changed"
	WhySuspended = "suspended"
	WhyStopped   = "stopped by a person"
	WhyIdle      = "idle"
	WhyRestart   = "restarted by a person"
	WhyUnwanted  = "no longer wanted"
	WhyOrphan    = "unknown to city.toml"
	WhyMoved     = "its session has another name now"
	WhyRequested = "it asked for a restart"
	WhyDrained   = "drained"
	WhyAsked     = "asked to drain"
	WhyWanted    = "wanted again"
	WhyRetry     = "quarantined"
)

// Action is one thing to do.
type Action struct {
	Kind    Kind
	Agent   string // "" for an orphan
	Session string
	Why     string
	Limit   time.Duration // ActDrain: how long the agent may take
	At      time.Time     // ActWait
}

// Wanted is one agent that the config asks for.
type Wanted struct {
	Name        string
	Session     string
	Hashes      agent.Hashes
	Current     func(core string) bool // reports whether a session with this core hash is up to date; nil: only Hashes.Core is
	OneShot     bool
	DependsOn   []string
	Suspended   bool
	IdleTimeout time.Duration // 0 = off
	CanRelaunch bool
	WaitsFor    string // a pool whose size is not known yet and which it depends on; "" for none
}

// current reports whether a session started with this core hash runs what is
// wanted.
func (w *Wanted) current(core string) bool {
	return core == w.Hashes.Core || w.Current != nil && w.Current(core)
}

// Desired is the city as its config wants it.
type Desired struct {
	Agents     []Wanted // in file order
	Run        string   // id of this gc start
	MaxStarts  int      // parallel starts
	DriftDrain time.Duration
}

// Presence is what the session backend reports of a session.
type Presence int

// The presences.
const (
	Unknown Presence = iota // not asked yet, or the query failed
	Gone                    // no session
	Alive                   // the session and its process exist
	Zombie                  // the session exists, its process does not
)

// Seen is one session as observed, and its record.
type Seen struct {
	Agent    string // the agent it belongs to by name; "" if the config has none
	Occupant string // the agent known to run in it, if that is not Agent
	Session  string
	Presence Presence
	Owned    bool // provably this city's
	Busy     bool // an operation is in flight
	Starting bool // the operation is a start

	Attached     bool
	LastActivity time.Time    // zero if unknown
	Working      bool         // it reports that it is working or waiting for an answer
	Expected     bool         // a message is queued for it or being typed
	Asked        time.Time    // when Attached and LastActivity were observed; zero if never
	Hashes       agent.Hashes // what it was started with; "" if unknown

	Drain        Drain
	DrainLimit   time.Duration // once it is no longer wanted; 0 = the city's
	Held         bool          // it may belong to a pool whose size is not known yet: leave it alone
	RestartAsked bool

	Record session.Record
}

// Drain is a drain in progress; the zero value means none.
type Drain struct {
	Since time.Time
	Why   string
	Limit time.Duration
	Ack   bool
}

// Actual is every session that matters.
type Actual struct {
	Sessions []Seen
}

// Make compares the wanted city with the observed one and returns what to do,
// in the order in which to begin. Sessions whose state is unknown are left alone.
func Make(d Desired, a Actual, now time.Time) []Action {
	p := newPlanner(d, a, now)
	for _, s := range p.rest {
		p.unwanted(s)
	}
	for i := range d.Agents {
		w := &d.Agents[i]
		if s, ok := p.seen[w.Name]; ok && !s.Busy {
			p.agent(w, s)
		}
	}
	return p.out
}

type planner struct {
	want   Desired
	now    time.Time
	wanted map[string]*Wanted
	seen   map[string]*Seen  // by agent: its session under the wanted name
	rest   []*Seen           // every other session
	moving map[string]string // by agent: a session that must end before its start
	free   int               // starts that may still begin
	out    []Action
}

func newPlanner(d Desired, a Actual, now time.Time) *planner {
	p := &planner{
		want: d, now: now, free: d.MaxStarts,
		seen: make(map[string]*Seen, len(a.Sessions)), wanted: make(map[string]*Wanted, len(d.Agents)), moving: map[string]string{},
	}
	for i := range d.Agents {
		p.wanted[d.Agents[i].Name] = &d.Agents[i]
	}
	for i := range a.Sessions {
		s := &a.Sessions[i]
		if s.Starting {
			p.free--
		}
		w := p.wanted[s.Agent]
		here := s.Agent != "" && w != nil && w.Session == s.Session
		if here {
			p.seen[s.Agent] = s
		} else {
			p.rest = append(p.rest, s)
		}
		if runs := s.runs(); runs != "" && !(here && runs == s.Agent) && s.mayRun() {
			p.moving[runs] = max(p.moving[runs], s.Session)
		}
	}
	return p
}

// runs is the agent that runs in the session, as far as known.
func (s *Seen) runs() string { return cmp.Or(s.Occupant, s.Agent) }

// mayRun reports whether the session holds an agent of this city, or may.
func (s *Seen) mayRun() bool {
	return s.Busy || s.Presence == Unknown || s.Presence != Gone && s.Owned
}

func (p *planner) add(k Kind, s *Seen, why string) {
	p.out = append(p.out, Action{Kind: k, Agent: s.Agent, Session: s.Session, Why: why})
}

func (p *planner) wait(s *Seen, at time.Time, why string) {
	p.out = append(p.out, Action{Kind: ActWait, Agent: s.Agent, Session: s.Session, Why: why, At: at})
}
