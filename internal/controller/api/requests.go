package api

import "time"

// StopRequest is the body of POST /v1/stop.
type StopRequest struct {
	TimeoutMS int64 `json:"timeoutMs,omitempty"` // for all agents together; 0: shutdown_timeout of the city
	Now       bool  `json:"now,omitempty"`       // kill at once, also what a stop under way still waits for
}

// Limit returns how long the agents may take, by default own; 0 kills at once.
func (r StopRequest) Limit(own time.Duration) time.Duration {
	switch {
	case r.Now:
		return 0
	case r.TimeoutMS > 0:
		return time.Duration(r.TimeoutMS) * time.Millisecond
	}
	return own
}

// QueueRequest asks for a nudge to be delivered when its agent is idle.
type QueueRequest struct {
	Agent     string        `json:"agent"`
	Text      string        `json:"text"`
	Immediate bool          `json:"immediate,omitempty"` // do not wait until it is idle
	TTL       time.Duration `json:"ttl,omitempty"`       // nanoseconds; 0 = 24 h
	Raw       bool          `json:"raw,omitempty"`       // type it as it is, also what is a command to the agent
}

// WaitRequest stores a wait: when it is met, Wake is woken with the note.
type WaitRequest struct {
	Agent string `json:"agent"`
	Until string `json:"until"` // exit, idle, text=RE, quiet=D
	Wake  string `json:"wake"`
	Note  string `json:"note,omitempty"`
}

// InsideRequest is what a process inside a session asks for its own agent. The
// token of its instance keeps one that was left over from an earlier instance
// from deciding about a newer one.
type InsideRequest struct {
	Agent string `json:"agent"`
	Token string `json:"token"`
}

// names is the body of calls about agents.
type names struct {
	Agents []string `json:"agents"`
}
