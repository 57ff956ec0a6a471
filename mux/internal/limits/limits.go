package limits

import (
	"fmt"
	"strconv"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// Check rejects invalid limits.
func Check(l api.Limits) error {
	if l.MemoryBytes < 0 || l.CPUs < 0 || l.PIDs < 0 || l.OpenFiles < 0 || l.Processes < 0 || l.CPUSeconds < 0 {
		return fmt.Errorf("%w: a negative limit", api.ErrRequest)
	}
	return nil
}

// WantsCgroup reports whether a cgroup could hold some of the limits.
func WantsCgroup(l api.Limits) bool { return l.MemoryBytes > 0 || l.CPUs > 0 || l.PIDs > 0 }

// Plan returns what enforces each limit, given what the cgroup enforces, and
// which rlimits are needed besides.
func Plan(l api.Limits, group *Cgroup) (rs []sys.Rlimit, infos []api.LimitInfo) {
	add := func(name, value, by, detail string) {
		infos = append(infos, api.LimitInfo{Limit: name, Value: value, By: by, Detail: detail})
	}
	bound := func(resource int, n int64) { rs = append(rs, sys.Rlimit{uint64(resource), uint64(n), uint64(n)}) }
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	if n := l.MemoryBytes; n > 0 {
		if group.holds(controlMemory) {
			add("memory", number(n), api.ByCgroup, "")
		} else {
			bound(rlimitMemory, n)
			add("memory", number(n), api.ByRlimit, "of each process: "+group.why(controlMemory))
		}
	}
	if l.CPUs > 0 {
		value := strconv.FormatFloat(l.CPUs, 'g', -1, 64)
		if group.holds(controlCPU) {
			add("cpu", value, api.ByCgroup, "")
		} else {
			add("cpu", value, api.ByNobody, group.why(controlCPU))
		}
	}
	if n := l.PIDs; n > 0 {
		most, err := UserTasks()
		switch {
		case group.holds(controlPIDs):
			add("pids", number(n), api.ByCgroup, "")
		case unix.Geteuid() == 0:
			add("pids", number(n), api.ByNobody, "RLIMIT_NPROC does not bind root: "+group.why(controlPIDs))
		case err != nil:
			add("pids", number(n), api.ByNobody, err.Error())
		default:
			bound(rlimitNproc, int64(most)+n)
			add("pids", number(n), api.ByRlimit, fmt.Sprintf("beyond the %d of the user at the start: %s", most, group.why(controlPIDs)))
		}
	}
	for _, x := range []struct {
		name     string
		resource int
		n        int64
	}{{"openFiles", unix.RLIMIT_NOFILE, l.OpenFiles}, {"processes", rlimitNproc, l.Processes}, {"cpuSeconds", unix.RLIMIT_CPU, l.CPUSeconds}} {
		if x.n > 0 {
			bound(x.resource, x.n)
			add(x.name, number(x.n), api.ByRlimit, "")
		}
	}
	return rs, infos
}

// Controllers of cgroups.
const (
	controlMemory = "memory"
	controlCPU    = "cpu"
	controlPIDs   = "pids"
)

// Cgroup is a session's group of processes; nil is none.
type Cgroup struct {
	dir     string          // "": it could not be made; reason says why
	control map[string]bool // limits that it enforces
	Reason  string
}

func (g *Cgroup) holds(controller string) bool {
	return g != nil && g.dir != "" && g.control[controller]
}

// why explains why a limit is not enforced.
func (g *Cgroup) why(controller string) string {
	switch {
	case g == nil:
		return "no cgroup was asked for"
	case g.Reason != "":
		return g.Reason
	}
	return "no cgroup of this user has the controller " + controller
}

// Path is the group's directory, "" for none.
func (g *Cgroup) Path() string {
	if g == nil {
		return ""
	}
	return g.dir
}
