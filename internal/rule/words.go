package rule

// What an agent is doing. Every package that names a state takes it from here.
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

// What blocks an agent.
const (
	KindPermission = "permission"
	KindQuestion   = "question"
	KindAuth       = "auth"
	KindTrust      = "trust"
	KindRateLimit  = "ratelimit"
)

// Kinds are all of them.
var Kinds = []string{KindPermission, KindQuestion, KindAuth, KindTrust, KindRateLimit}
