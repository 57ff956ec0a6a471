package server

import "gascity.dev/gc/internal/process"

// output is where the output of a background command goes. session.mu guards it.
type output struct {
	s    *session
	ring *process.Ring // nil if the session is none
	flow flow          // to the caller
}
