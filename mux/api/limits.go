package api

// Limits are resource limits of a session's processes; zero is no limit. Memory,
// cpu and pids hold for all of them together where the server's user may make
// cgroups (version 2) with these controllers. How each is held, and which is
// not, stands in [SessionInfo].
type Limits struct {
	MemoryBytes int64   `json:"memoryBytes,omitempty"` // else of each process, RLIMIT_DATA
	CPUs        float64 `json:"cpus,omitempty"`        // processors; else not held
	PIDs        int64   `json:"pids,omitempty"`        // processes and threads; else beyond what the user has now, RLIMIT_NPROC
	OpenFiles   int64   `json:"openFiles,omitempty"`   // of each process
	Processes   int64   `json:"processes,omitempty"`   // of the user, as RLIMIT_NPROC counts
	CPUSeconds  int64   `json:"cpuSeconds,omitempty"`  // of each process
}

// What holds a limit.
const (
	ByCgroup = "cgroup"
	ByRlimit = "rlimit"
	ByNobody = "none"
)

// LimitInfo is one limit of a session and what holds it.
type LimitInfo struct {
	Limit  string `json:"limit"` // memory, cpu, pids, openFiles, processes, cpuSeconds
	Value  string `json:"value"`
	By     string `json:"by"`               // ByCgroup, ByRlimit, ByNobody
	Detail string `json:"detail,omitempty"` // one line
}
