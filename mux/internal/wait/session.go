// Package wait waits until a session shows, does or stops doing something.
//
// It reads a [Session] after each change and owns nothing between two waits. It never
// types, and never looks at a session that does not change, except when time alone may
// meet a condition.
//
// Only mux/server imports it.
package wait

import (
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// Session is what is waited for. Its lock is held while a method is called.
type Session interface {
	sync.Locker
	// Change returns a channel that is closed at the next change; End, at the end of the
	// session.
	Change() <-chan struct{}
	End() <-chan struct{}
	// Exit returns the exit of an ended session, else nil.
	Exit() *api.Exit
	// Silent returns how long there was no output.
	Silent() time.Duration
	// Activity returns what the program does; known is false while it paints. If the
	// answer may change without output, it is to be asked again after again.
	Activity() (a api.Activity, known bool, again time.Duration)
	// Bells counts the bells; Prompt reports whether a shell prompt is open.
	Bells() uint64
	Prompt() bool
	// Revision changes whenever the screen does.
	Revision() uint64
	// Term returns the terminal; View, the same for reading the screen.
	Term() *vt.Terminal
	View() *vt.Terminal
}
