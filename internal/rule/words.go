package rule

// The states of an agent, for all packages.
const (
	StateStarting = "starting"
	StateIdle     = "idle"
	StateWorking  = "working"
	StateBlocked  = "blocked"
	StateDone     = "done"
	StateError    = "error"
	StateStuck    = "stuck"
	StateExited   = "exited"
	StateUnknown  = "unknown"
)

// States are the states that a status rule can detect.
var States = []string{StateIdle, StateWorking, StateBlocked, StateDone, StateError}

// The kinds of a blocked agent.
const (
	KindPermission = "permission"
	KindQuestion   = "question"
	KindAuth       = "auth"
	KindTrust      = "trust"
	KindRateLimit  = "ratelimit"
)

// Kinds lists the kinds.
var Kinds = []string{KindPermission, KindQuestion, KindAuth, KindTrust, KindRateLimit}
