// Package told finds out who reports what an agent is doing: gc report, from inside a
// session.
//
// Its invariant: a request proves nothing about its sender. The process tree does, as the
// kernel shows it; a process that cannot be seen is refused. It knows no sessions and
// changes nothing. Only mux/server calls it.
package told

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
)

// Limits of a report.
const (
	maxHook = 64 // bytes
	maxAge  = time.Minute
)

// Parse checks a request.
func Parse(in api.ReportRequest) (status.Report, error) {
	r := status.Report{State: in.State, Kind: in.Kind, Message: in.Message, Hook: status.MessageLine(in.Hook)}
	states, kinds := status.ReportStates(), status.ReportKinds()
	switch {
	case !slices.Contains(states, r.State):
		return r, fmt.Errorf("%w: state %.40q: must be one of %s", api.ErrRequest, r.State, strings.Join(states, ", "))
	case r.Kind != "" && r.State != status.Blocked:
		return r, fmt.Errorf("%w: kind: only a report of %s has one", api.ErrRequest, status.Blocked)
	case r.Kind != "" && !slices.Contains(kinds, r.Kind):
		return r, fmt.Errorf("%w: kind %.40q: must be one of %s", api.ErrRequest, r.Kind, strings.Join(kinds, ", "))
	case len(r.Hook) > maxHook:
		return r, fmt.Errorf("%w: hook: more than %d bytes", api.ErrRequest, maxHook)
	}
	return r, nil
}

// Age returns how long ago a report was made, as far as that is believed.
func Age(in api.ReportRequest) time.Duration {
	return max(0, min(time.Duration(in.Age), maxAge))
}

// Sender is the process that reports.
type Sender struct {
	Chain []proctree.Proc   // the process, its parent, and so on, to the first of a session
	Env   map[string]string // nil if it has ended
}

// Examine returns what the kernel knows about a process; isFirst reports whether one is the
// first of a session. ErrNotInside if it cannot be seen
// from here: it has ended, or is in a container of its own.
func Examine(pid int, isFirst func(pid int) bool) (s Sender, err error) {
	if pid <= 0 {
		return s, fmt.Errorf("%w: the process that reports cannot be seen", api.ErrNotInside)
	}
	for at := pid; at > 1; at = s.Chain[len(s.Chain)-1].PPID {
		p, err := proctree.Get(at)
		if err != nil && at == pid {
			return s, fmt.Errorf("%w: the process that reports cannot be seen: %w", api.ErrNotInside, err)
		}
		if err != nil {
			break
		}
		if s.Chain = append(s.Chain, p); isFirst(at) {
			break
		}
	}
	s.Env, _ = proctree.Environ(pid) // it may have ended; its place in the tree was seen
	return s, nil
}

// CheckEnviron returns ErrNotInside for a process of the session with an id whose
// environment is that of another session.
func (s Sender) CheckEnviron(id string) error {
	if is := s.Env[proctree.SessionVar]; is == "" || is == id || s.Env[proctree.MarkerVar] == id {
		return nil
	}
	return fmt.Errorf("%w: its environment is that of another session", api.ErrNotInside)
}

// Agent returns the program that called a hook, and the programs between it and leader,
// the session's first process. The shells that run hooks do not count. ErrNotInside for a
// hook that is not below leader: it is of an agent that the session left behind.
func (s Sender) Agent(leader int) (agent status.Process, above []status.Process, err error) {
	at := slices.IndexFunc(s.Chain, func(p proctree.Proc) bool { return p.PID == leader })
	if at < 0 {
		return agent, nil, fmt.Errorf("%w: its agent is not below the session's first process", api.ErrNotInside)
	}
	for _, p := range s.Chain[min(1, at) : at+1] {
		if !status.IsShell(p.Comm) {
			above = append(above, status.Process{PID: p.PID, Start: p.Start})
		}
	}
	if len(above) > 0 {
		agent, above = above[0], above[1:]
	}
	return agent, above, nil
}

// Runs reports whether a process still runs.
func Runs(of status.Process) bool {
	p, err := proctree.Get(of.PID)
	return err == nil && p.Start == of.Start && !p.Zombie()
}

// Ended reports whether a known process has ended.
func Ended(of status.Process) bool { return of != status.Process{} && !Runs(of) }
