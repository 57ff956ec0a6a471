package limits

import (
	"time"

	"gascity.dev/gc/internal/proctree"
)

// Groups are the paths of cgroups.
type Groups []string

// With adds the processes in the cgroups, which no process can leave by itself, to a list.
func (g Groups) With(list func() ([]proctree.Proc, error)) func() ([]proctree.Proc, error) {
	if len(g) == 0 {
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
		for _, group := range g {
			for _, pid := range PIDs(group) {
				if p, err := proctree.Get(pid); err == nil && !known[pid] {
					procs = append(procs, p)
				}
			}
		}
		return procs, nil
	}
}

// KillAfter kills the cgroups as a whole after grace, which no fork can outrun. stop
// cancels it.
func (g Groups) KillAfter(grace time.Duration) (stop func()) {
	kill := func() {
		for _, group := range g {
			Kill(group)
		}
	}
	if grace <= 0 {
		kill()
		return func() {}
	}
	t := time.AfterFunc(grace, kill)
	return func() { t.Stop() }
}
