package queue

import (
	"context"

	"gascity.dev/gc/mux/api"
)

// Host is what the queue needs of the server. It is safe for concurrent use.
type Host interface {
	// Running returns the running session of a name.
	Running(name string) (Session, bool)
	// Find returns a session by its id, also one that was renamed or has ended.
	Find(id string) (Session, bool)
	// Typed looks for a nudge with one of the ids in the sessions of a name and in the
	// session of an id. If any server began to type it, outcome returns its receipt, and
	// waits for it while it is being finished; else outcome is nil. Typed is called before
	// the first request is answered.
	Typed(name, id string, nudges ...string) (outcome func(context.Context) (api.Receipt, error))
}

// Session is a session to which messages are typed.
type Session interface {
	ID() string
	Running() bool
	// Activity returns what the program does.
	Activity(ctx context.Context) (api.Activity, error)
	// AwaitActivity checks what the program does after every change until ok or its end.
	AwaitActivity(ctx context.Context, ok func(api.Activity) bool) error
	// Nudge types a message and submits it. The nudge of an id that any server began is
	// not typed again: the receipt is that of the first time. Nothing was typed if there
	// is an error.
	Nudge(ctx context.Context, r api.NudgeRequest) (api.Receipt, error)
}
