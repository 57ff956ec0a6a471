package api

// Limits are resource limits of a session's processes; zero means no limit. Memory,
// CPUs and PIDs apply to all of them together if the server's user may create cgroups
// (version 2) with these controllers. [SessionInfo] says what enforces each.
type Limits struct {
	MemoryBytes int64   `json:"memoryBytes,omitempty"` // else of each process, RLIMIT_DATA
	CPUs        float64 `json:"cpus,omitempty"`        // processors; else not enforced
	PIDs        int64   `json:"pids,omitempty"`        // processes and threads; else, on top of the user's present ones, RLIMIT_NPROC
	OpenFiles   int64   `json:"openFiles,omitempty"`   // of each process
	Processes   int64   `json:"processes,omitempty"`   // of the user, as RLIMIT_NPROC counts
	CPUSeconds  int64   `json:"cpuSeconds,omitempty"`  // of each process
}

// The mechanisms that enforce a limit.
const (
	ByCgroup = "cgroup"
	ByRlimit = "rlimit"
	ByNobody = "none"
)

// LimitInfo is one limit of a session and what enforces it.
type LimitInfo struct {
	Limit  string `json:"limit"` // memory, cpu, pids, openFiles, processes, cpuSeconds
	Value  string `json:"value"`
	By     string `json:"by"`               // ByCgroup, ByRlimit, ByNobody
	Detail string `json:"detail,omitempty"` // one line
}
