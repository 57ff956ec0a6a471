package server

import (
	"slices"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/internal/limits"
)

// withCgroups adds the processes in the sessions' cgroups, which no process can leave by
// itself, to a list.
func withCgroups(list func() ([]proctree.Proc, error), all ...*session) func() ([]proctree.Proc, error) {
	if !slices.ContainsFunc(all, func(s *session) bool { return s.rec.Cgroup != "" }) {
		return list
	}
	return func() ([]proctree.Proc, error) {
		procs, err := list()
		if err != nil {
			return nil, err
		}
		known := make(map[int]bool, len(procs))
		for _, p := range procs {
			known[p.PID] = true
		}
		for _, s := range all {
			if s.rec.Cgroup == "" {
				continue
			}
			for _, pid := range limits.PIDs(s.rec.Cgroup) {
				if p, err := proctree.Get(pid); err == nil && !known[pid] {
					procs = append(procs, p)
				}
			}
		}
		return procs, nil
	}
}

// killLate kills the sessions' cgroups as a whole after grace, which no fork can outrun.
// stop cancels it.
func killLate(grace time.Duration, all ...*session) (stop func()) {
	kill := func() {
		for _, s := range all {
			if s.rec.Cgroup != "" {
				limits.Kill(s.rec.Cgroup)
			}
		}
	}
	if grace <= 0 {
		kill()
		return func() {}
	}
	t := time.AfterFunc(grace, kill)
	return func() { t.Stop() }
}
