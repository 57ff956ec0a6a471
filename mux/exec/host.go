package exec

import (
	"context"
	"time"

	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// Host is what background commands need of the multiplexer. It is safe for concurrent
// use. Tx and View are called while a command's lock is not held; the other methods may
// be called while it is.
type Host interface {
	// Create starts the session r.ID of a command, with a terminal if pty is set and
	// with pipes otherwise. Its output goes to [Commands.Output] of that id, and its end
	// to [Commands.Ended], which may be called before Create returns.
	Create(r api.CreateRequest, pty bool, owner string) (Session, error)
	// Find returns the session of a command.
	Find(id string) (Session, bool)
	// Forget removes the sessions of ended commands; ids without a session are skipped.
	Forget(ids ...string)
	// Owner returns the running session of a name.
	Owner(name string) (Owner, bool)
	// OwnerByID returns a session by its id, even an ended one.
	OwnerByID(id string) (Owner, bool)
	// Tx runs f as one durable write of the database: all of it or nothing.
	Tx(f func(*store.Tx) error) error
	// View runs f on a consistent state of the database.
	View(f func(*store.Tx) error) error
	// Publish appends an event to the multiplexer's stream.
	Publish(api.Event)
	// ShuttingDown reports whether the multiplexer is ending its sessions.
	ShuttingDown() bool
}

// Session is the session that a command runs in.
type Session interface {
	// Process returns the process of the command and when it started.
	Process() (pid int, started time.Time)
	// Send writes input, as fast as the command reads it; ErrExited after its end.
	Send(ctx context.Context, p []byte) error
	// CloseInput ends the standard input.
	CloseInput(ctx context.Context) error
	// Changed returns a channel that is closed at the next change of the screen.
	Changed() <-chan struct{}
	// Silent returns how long there was no output, and whether output waits in
	// the program because of [Output.Full] or a full disk.
	Silent() (d time.Duration, held bool)
	// Resume reads output again if [Output.Full] allows it now.
	Resume()
	// End ends the process tree, TERM first and KILL after grace, and returns when the
	// session has ended.
	End(ctx context.Context, grace time.Duration) error
}

// Owner is a session to which ends of commands are delivered. Its methods return
// [delivery.ErrGone] when it has ended, as those of a [delivery.Agent] do.
type Owner interface {
	ID() string
	AwaitIdle(ctx context.Context) error
	Screen(ctx context.Context, lines int) (string, error)
	CursorLine(ctx context.Context) (line string, known bool, err error)
	Press(ctx context.Context, key string) error
	// Type types a message and submits it. A message whose id was typed before, by any
	// server, is not typed again: the outcome is that of the first time.
	Type(ctx context.Context, id, text string) (delivery.Outcome, error)
	// Outcome returns the outcome of the message with the id, and waits for it if it is
	// being typed. known is false if no byte of it was typed.
	Outcome(ctx context.Context, id string) (o delivery.Outcome, known bool, err error)
}
