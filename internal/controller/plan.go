package controller

import (
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/session"
)

// Kind is what an action does.
type Kind string

// The actions.
const (
	ActStart       Kind = "start"
	ActStop        Kind = "stop"         // end the session now
	ActDrain       Kind = "drain"        // ask it to end, then ActStop
	ActCancelDrain Kind = "cancel-drain" // it is wanted again
	ActRelaunch    Kind = "relaunch"     // start the agent again in its warm session
	ActRunLive     Kind = "run-live"     // apply the live commands again
	ActWait        Kind = "wait"         // nothing to do before At
	ActLook        Kind = "look"         // ask again before something is done to it
)

// Why an action is taken.
const (
	WhyNew       = "not running"
	WhyCrashed   = "crashed"
	WhyZombie    = "its process is gone"
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

// Wanted is one agent that config asks for.
type Wanted struct {
	Name        string
	Session     string
	Hashes      agent.Hashes
	Current     func(core string) bool // is a session with this core hash up to date; nil: the hash must be equal
	OneShot     bool
	DependsOn   []string
	Suspended   bool
	IdleTimeout time.Duration // 0 = off
	CanRelaunch bool
	WaitsFor    string // something it must not start before, "" for nothing
}

// current reports whether a session that was started with this core hash runs
// what is wanted.
func (w *Wanted) current(core string) bool {
	return core == w.Hashes.Core || w.Current != nil && w.Current(core)
}

// Desired is the city as config wants it.
type Desired struct {
	Agents     []Wanted // in the order of the file
	Run        string   // this gc start
	MaxStarts  int      // starts at once
	DriftDrain time.Duration
}

// Presence is what a backend says of a session.
type Presence int

// Presences.
const (
	Unknown Presence = iota // not asked yet, or the question failed
	Gone                    // no session
	Alive                   // session and process
	Zombie                  // a session without its process
)

// Seen is one session as it is: what the backend says, and what is recorded.
type Seen struct {
	Agent    string // "" when config does not know it
	Was      string // the agent that runs in it, as far as known, when that is not Agent
	Session  string
	Presence Presence
	Owned    bool // provably this city's
	Busy     bool // an operation is in flight
	Starting bool // that operation is a start

	Attached     bool
	LastActivity time.Time    // zero when not known
	Working      bool         // it says that it works, or that it waits for an answer
	Expected     bool         // a message waits for it, or is being typed
	Asked        time.Time    // when Attached and LastActivity were; zero: never
	Hashes       agent.Hashes // what it was started with; "" when not known

	Drain        Drain
	DrainLimit   time.Duration // when it is not wanted; 0 = the city's
	Held         bool          // it may be wanted: a pool of which the size is not known yet
	RestartAsked bool

	Record session.Record
}

// Drain is a drain in progress; the zero value is none.
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

// Plan compares the city as it is wanted with what is there and says what to
// do. It is pure: same input, same actions, in the order they should begin. What
// cannot be told is left alone.
func Plan(d Desired, a Actual, now time.Time) []Action {
	p := &planner{want: d, now: now, seen: make(map[string]*Seen, len(a.Sessions)), wanted: make(map[string]*Wanted, len(d.Agents))}
	for i := range d.Agents {
		p.wanted[d.Agents[i].Name] = &d.Agents[i]
	}
	p.free = d.MaxStarts
	p.moving = moving(a.Sessions)
	for i := range a.Sessions {
		s := &a.Sessions[i]
		if s.Starting {
			p.free--
		}
		if _, ok := p.wanted[s.Agent]; ok && s.Agent != "" {
			p.seen[s.Agent] = s
			continue
		}
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

// moving are the agents that still run, or may, in a session of another name
// than theirs is now.
func moving(sessions []Seen) map[string]string {
	out := map[string]string{}
	for i := range sessions {
		s := &sessions[i]
		there := s.Presence != Gone || s.Busy
		if s.Was != "" && s.Was != s.Agent && there && (s.Owned || s.Busy || s.Presence == Unknown) {
			out[s.Was] = s.Session
		}
	}
	return out
}

type planner struct {
	want   Desired
	now    time.Time
	seen   map[string]*Seen
	wanted map[string]*Wanted
	moving map[string]string // agent → the session it is to leave
	free   int               // starts that may still begin
	out    []Action
}

func (p *planner) add(k Kind, s *Seen, why string) {
	p.out = append(p.out, Action{Kind: k, Agent: s.Agent, Session: s.Session, Why: why})
}

func (p *planner) wait(s *Seen, at time.Time, why string) {
	p.out = append(p.out, Action{Kind: ActWait, Agent: s.Agent, Session: s.Session, Why: why, At: at})
}

// drain begins one, or carries on with the one in progress.
func (p *planner) drain(s *Seen, why string, limit time.Duration) {
	switch {
	case s.Drain.Since.IsZero():
		p.out = append(p.out, Action{Kind: ActDrain, Agent: s.Agent, Session: s.Session, Why: why, Limit: limit})
	case s.Drain.Ack:
		p.add(ActStop, s, WhyDrained)
	default:
		end := s.Drain.Since.Add(s.Drain.Limit)
		if !p.now.Before(end) || s.Drain.Since.Sub(p.now) > s.Drain.Limit { // or the clock was set back
			p.add(ActStop, s, s.Drain.Why)
			return
		}
		p.wait(s, end, s.Drain.Why)
	}
}

// unwanted handles a session that config does not ask for.
func (p *planner) unwanted(s *Seen) {
	if s.Busy || !s.Owned || s.Held {
		return
	}
	why := WhyOrphan
	if _, moved := p.wanted[s.Was]; moved {
		why = WhyMoved
	} else if s.Agent != "" {
		why = WhyUnwanted
	}
	p.leave(s, why)
}

// leave ends a session, gently if it can.
func (p *planner) leave(s *Seen, why string) {
	switch s.Presence {
	case Zombie:
		p.add(ActStop, s, why)
	case Alive:
		limit := s.DrainLimit
		if limit == 0 {
			limit = p.want.DriftDrain
		}
		p.drain(s, why, limit)
	}
}

// agent handles one wanted agent that no operation is busy with.
func (p *planner) agent(w *Wanted, s *Seen) {
	switch {
	case s.Presence == Unknown:
	case s.Presence == Gone:
		p.gone(w, s)
	case !s.Owned:
		// Somebody else's session has the name: not ours to touch.
	case s.Was != "" && s.Was != s.Agent: // the name was another agent's
		p.leave(s, WhyMoved)
	case s.Record.Stopped:
		p.add(ActStop, s, WhyStopped)
	case w.Suspended || s.Record.Suspended:
		if s.Presence == Zombie {
			p.add(ActStop, s, WhySuspended)
			return
		}
		p.drain(s, WhySuspended, p.want.DriftDrain)
	case s.Record.Drained && s.Presence == Alive:
		p.drain(s, WhyAsked, p.want.DriftDrain)
	case s.Presence == Zombie:
		p.add(ActStop, s, WhyZombie)
	default:
		p.alive(w, s)
	}
}

// gone starts what is wanted and not there.
func (p *planner) gone(w *Wanted, s *Seen) {
	r := &s.Record
	if w.Suspended || r.Suspended || r.Stopped || r.Asleep || r.Drained || r.Finished {
		return
	}
	if w.OneShot && r.Job.Run == p.want.Run && w.current(r.Job.Hash) {
		return // once per gc start and core hash
	}
	if ok, at := r.MayStart(p.now); !ok {
		p.wait(s, at, WhyRetry)
		return
	}
	if p.blockedBy(w) != "" || p.free <= 0 {
		return // the end of another start comes back here
	}
	p.free--
	why := WhyNew
	if r.Crashed {
		why = WhyCrashed
	}
	p.add(ActStart, s, why)
}

// blockedBy names what keeps an agent from starting, or "": the session it is to
// leave, or the first dependency that is not up.
func (p *planner) blockedBy(w *Wanted) string {
	if old := p.moving[w.Name]; old != "" {
		return "the end of session " + old
	}
	if w.WaitsFor != "" {
		return w.WaitsFor
	}
	for _, name := range w.DependsOn {
		dw, known := p.wanted[name]
		ds, seen := p.seen[name]
		if !known || !seen {
			continue // no agent any more, or a pool without members
		}
		if !up(dw, ds, p.want.Run) {
			return name
		}
	}
	return ""
}

// up reports whether what depends on an agent may start: it runs, a one_shot is
// done, or a person took it out.
func up(w *Wanted, s *Seen, run string) bool {
	r := &s.Record
	if w.Suspended || r.Suspended || r.Stopped || r.Asleep || r.Drained {
		return true
	}
	if w.OneShot {
		return r.Job.Run == run && w.current(r.Job.Hash) && r.Job.Done && r.Job.Code == 0
	}
	return s.Presence == Alive && !s.Busy
}

// alive looks for reasons to end or change a running agent.
func (p *planner) alive(w *Wanted, s *Seen) {
	core := s.Hashes.Core != "" && !w.current(s.Hashes.Core)
	switch {
	case s.RestartAsked:
		p.add(ActStop, s, WhyRequested)
		return
	case core && s.Asked.IsZero() && s.Drain.Since.IsZero():
		p.add(ActLook, s, WhyDrift)
		return
	case core && s.Attached && s.Drain.Since.IsZero():
		return // not while a person is attached
	case core && w.CanRelaunch && s.Hashes.Provision == w.Hashes.Provision && s.Drain.Since.IsZero():
		p.add(ActRelaunch, s, WhyLaunch)
		return
	case core:
		p.drain(s, WhyDrift, p.want.DriftDrain)
		return
	case !s.Drain.Since.IsZero():
		p.add(ActCancelDrain, s, WhyWanted)
		return
	}
	if s.Hashes.Live != "" && s.Hashes.Live != w.Hashes.Live {
		p.add(ActRunLive, s, WhyLive)
	}
	if w.IdleTimeout > 0 && !s.LastActivity.IsZero() && !s.Attached && !s.Working && !s.Expected {
		at := s.LastActivity.Add(w.IdleTimeout)
		switch {
		case p.now.Before(at):
			p.wait(s, at, WhyIdle)
		case s.Asked.Before(at): // what is known is older than the deadline
			p.add(ActLook, s, WhyIdle)
		default:
			p.add(ActStop, s, WhyIdle)
		}
	}
}
