package process

// Status of a command.
type Status string

// The statuses. Completed means exit status 0; a timeout is never completed.
const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	TimedOut  Status = "timed_out"
	Killed    Status = "killed"
	Lost      Status = "lost" // how it ended cannot be known
)

// Ended reports whether the status is final.
func (s Status) Ended() bool { return s != Running }
