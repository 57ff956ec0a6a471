package api

import (
	"time"

	"gascity.dev/gc/internal/clock"
)

// StopRequest is the body of POST /v1/stop.
type StopRequest struct {
	Timeout clock.Millis `json:"timeoutMs,omitzero"` // for all agents together; 0: the city's shutdown_timeout
	Now     bool         `json:"now,omitempty"`      // kill at once, even during a gentler stop
}

// Limit returns how long the agents may take, by default own; 0 kills at once.
func (r StopRequest) Limit(own time.Duration) time.Duration {
	switch {
	case r.Now:
		return 0
	case r.Timeout > 0:
		return time.Duration(r.Timeout)
	}
	return own
}

// QueueRequest asks for a nudge to be delivered when its agent is idle.
type QueueRequest struct {
	Agent     string        `json:"agent"`
	Text      string        `json:"text"`
	Immediate bool          `json:"immediate,omitempty"` // deliver even if it is not idle
	Interrupt bool          `json:"interrupt,omitempty"` // end its turn first, and deliver ahead of the others
	TTL       time.Duration `json:"ttl,omitempty"`       // nanoseconds; 0 = 24 h
	Raw       bool          `json:"raw,omitempty"`       // type it literally, even if the agent takes it for a command
}

// WaitRequest stores a wait: when it is met, Wake is woken with the note.
type WaitRequest struct {
	Agent string `json:"agent"`
	Until string `json:"until"` // exit, idle, text=RE, quiet=D
	Wake  string `json:"wake"`
	Note  string `json:"note,omitempty"`
}

// InsideRequest is a request of a process inside a session for its own agent.
// The token prevents a process left over from an earlier instance from deciding
// for a newer one.
type InsideRequest struct {
	Agent string `json:"agent"`
	Token string `json:"token"`
}

// CarriedConversation says that the conversation that an agent would resume was copied to
// the machine where it runs next.
type CarriedConversation struct {
	Agent        string `json:"agent"`
	Conversation string `json:"conversation"`
}

// names is the body of requests about agents.
type names struct {
	Agents []string `json:"agents"`
}
