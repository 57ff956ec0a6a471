package attached

import (
	"context"
	"sync"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// Session is a session to which terminals are attached. Two values are equal if they are
// the same session.
type Session interface {
	ID() string
	Name() string
	// Type types what a client typed, and counts it if t is not nil. ErrExited after the
	// session's end, ErrInputFull if too many write.
	Type(ctx context.Context, t *journal.Typist, p []byte) error
	// Interrupted cancels the nudge under way: a person pressed Ctrl-C.
	Interrupted()

	// The lock is held while any of the following is called.
	sync.Locker
	// Exit returns the exit of an ended session, else nil.
	Exit() *api.Exit
	// Ending reports whether the program has ended; output may still come.
	Ending() bool
	// View returns the terminal for reading.
	View() *vt.Terminal
	// Rendered returns the offset of the output that the screen shows.
	Rendered() uint64
	// Raw reports whether a terminal of a size can show the program's own bytes.
	Raw(cols, rows int) bool
	// Segment returns the latest output up to Rendered, the offset where it begins, and
	// the unfinished sequence before it.
	Segment() (base uint64, output, pending []byte)
	// Typist returns the journal's record of a client.
	Typist(id uint64) (*journal.Typist, error)
	// Resize sets the size; SetHost, the terminal whose properties programs
	// get.
	Resize(cols, rows int) error
	SetHost(vt.HostTerminal)
	// Configured returns the size without clients.
	Configured() (cols, rows int)
	// Repaint makes the program repaint, as after a resize.
	Repaint()
	// Seen notes that a person has seen the session; Drafted, that one has typed.
	Seen()
	Drafted()
	// Changed wakes those who wait for a change.
	Changed()
	// Publish publishes an event of the session.
	Publish(api.Event)
}
