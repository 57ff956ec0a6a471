package api

import (
	"strconv"
	"time"

	"gascity.dev/gc/runtime"
)

// State is what the controller knows of an agent.
type State string

// The states of `gc status`.
const (
	StateStopped     State = "stopped"
	StateStarting    State = "starting"
	StateRunning     State = "running"
	StateDraining    State = "draining"
	StateExited      State = "exited" // a one_shot that ended with 0, or an agent that did so after its prompt
	StateCrashed     State = "crashed"
	StateQuarantined State = "quarantined"
	StateSuspended   State = "suspended"
	StateUnknown     State = "unknown" // the backend does not reply
)

// Status is the JSON of `gc status --json`. Fields are only ever added.
type Status struct {
	City       string         `json:"city"`
	CityPath   string         `json:"cityPath"`
	Controller ControllerInfo `json:"controller"`
	Agents     []AgentStatus  `json:"agents"`
	// SessionProvider is what hosts the sessions: "native", "tmux" …. For later
	// commands it overrides GC_SESSION.
	SessionProvider string `json:"sessionProvider,omitempty"`
	// AnyProvider is true if the controller can host agents with providers that none
	// of its agents uses.
	AnyProvider bool `json:"anyProvider,omitempty"`
	// ConfigError is why a changed city.toml is not in use.
	ConfigError string `json:"configError,omitempty"`
	// StoreError is why the newest records are not on disk. They are kept in
	// memory until they are.
	StoreError string `json:"storeError,omitempty"`
	// Reconciled is true once the first reconcile is done.
	Reconciled bool `json:"reconciled"`
	// Suspended is true if the whole city is suspended, by gc suspend or its
	// config.
	Suspended bool `json:"suspended,omitempty"`
	// Rigs are the rigs of the config.
	Rigs []RigStatus `json:"rigs,omitempty"`
	// Pools are the pools of the config.
	Pools []PoolStatus `json:"pools,omitempty"`
	// Seq is the number of the newest event.
	Seq uint64 `json:"seq"`
}

// ControllerInfo identifies the controller; PID 0 means that none runs.
type ControllerInfo struct {
	PID   int        `json:"pid"`
	Since *time.Time `json:"since,omitempty"`
}

// RigStatus is one rig; Path is absolute.
type RigStatus struct {
	Name      string `json:"name"`
	Path      string `json:"path"`
	Suspended bool   `json:"suspended"`
}

// PoolStatus is one pool. Size is the number of members wanted; Max -1 means no
// limit; Error is why the newest check failed.
type PoolStatus struct {
	Name  string `json:"name"`
	Size  int    `json:"size"`
	Min   int    `json:"min"`
	Max   int    `json:"max"`
	Error string `json:"error,omitempty"`
}

// LoginHint is what to do about an agent that requires a login.
func LoginHint(agent string) string {
	return "log in, then gc restart " + agent + "; for a variable, set it, then gc stop and gc start"
}

// AgentStatus is one agent, or one member of a pool.
type AgentStatus struct {
	Name         string        `json:"name"`
	Session      string        `json:"session"`
	Provider     string        `json:"provider"`
	Host         string        `json:"host,omitempty"`     // the other machine that hosts it, ssh://…, or its pod, k8s:POD
	HostedBy     string        `json:"hostedBy,omitempty"` // the session provider of one with a host: "k8s", "acp+k8s", ssh://…
	Description  string        `json:"description,omitempty"`
	Pool         string        `json:"pool,omitempty"`
	State        State         `json:"state"`
	Activity     string        `json:"activity"` // runtime.ActivityIdle …
	Since        *time.Time    `json:"since,omitempty"`
	Started      *time.Time    `json:"started,omitempty"` // the newest incarnation
	Restarts     int           `json:"restarts"`
	LastExit     *runtime.Exit `json:"lastExit,omitempty"`
	LastActivity *time.Time    `json:"lastActivity,omitempty"` // of input or output
	LastLine     string        `json:"lastLine,omitempty"`     // of the screen, if only the controller can query the backend
	RetryAt      *time.Time    `json:"retryAt,omitempty"`      // quarantined, or after a backend failure: the next try
	WaitsFor     string        `json:"waitsFor,omitempty"`     // a dependency that is not up
	Stopping     bool          `json:"stopping,omitempty"`     // a stop is waiting for it to end
	Error        string        `json:"error,omitempty"`        // why it is not as wanted, one line
	Hint         string        `json:"hint,omitempty"`
	Warning      string        `json:"warning,omitempty"`    // a step of its start that failed without ending it
	LastScreen   string        `json:"lastScreen,omitempty"` // of the last crash
	OneShot      bool          `json:"oneShot,omitempty"`
	Drain        *DrainStatus  `json:"drain,omitempty"`
	SuspendedBy  string        `json:"suspendedBy,omitempty"`  // agent, city, config, "rig NAME", "pool NAME"
	Permissions  string        `json:"permissions,omitempty"`  // the level that it runs with, or will
	Unchecked    bool          `json:"unchecked,omitempty"`    // it may do anything without asking
	Conversation string        `json:"conversation,omitempty"` // what its program resumes at the next start, by the program's own id
	// ActivityInfo is the evidence for Activity, and the question of a blocked
	// agent.
	ActivityInfo *runtime.Activity `json:"activityInfo,omitempty"`
}

// DrainStatus is a drain in progress.
type DrainStatus struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // when the session is ended at the latest
	Why   string    `json:"why"`
	Acked bool      `json:"acked"`
}

// Who suspended an agent, in AgentStatus.SuspendedBy. The name of a rig or pool
// follows after a space.
const (
	ByAgent  = "agent"  // gc agent suspend AGENT
	ByPool   = "pool"   // gc agent suspend POOL
	ByRig    = "rig"    // gc rig suspend RIG
	ByCity   = "city"   // gc suspend
	ByConfig = "config" // suspended = true in city.toml
)

// CheckTimeout limits one check or hook of a pool.
const CheckTimeout = 30 * time.Second

// CountAgents is "1 agent", "2 agents".
func CountAgents(n int) string {
	if n == 1 {
		return "1 agent"
	}
	return strconv.Itoa(n) + " agents"
}

// Hosting is where a city's sessions are.
type Hosting struct {
	SessionProvider string `json:"sessionProvider,omitempty"` // as in Status
}
