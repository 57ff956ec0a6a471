package nudge

import (
	"context"
	"errors"
	"sync"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// ErrStuck means that the terminal took no byte for too long.
var ErrStuck = errors.New("the program does not read its input")

// Session is a program on a terminal with a screen.
type Session interface {
	// Program returns what is known about the program.
	Program() Program
	// Encode returns the bytes of keys in the program's present modes.
	Encode(keys ...string) ([]byte, error)
	// Nudged publishes the outcome of a nudge.
	Nudged(r api.NudgeRequest, rec api.Receipt)

	// Interrupt presses the keys that end a turn of the program, and publishes who did it.
	Interrupt(by *api.Actor) error

	// Acquire waits for the input lock, in the order of arrival. ErrExited after the
	// session's end, ErrInputFull if too many wait.
	Acquire(ctx context.Context) error
	// Release gives the input lock to the next writer.
	Release()
	// CancelWith makes a person's Ctrl-C call cancel, until Release.
	CancelWith(cancel context.CancelCauseFunc)
	// Track makes the journal record how much the terminal takes of what is written.
	Track(on bool)
	// Write writes all of p and returns how much the terminal took; the caller holds the
	// input lock. [ErrStuck] if the terminal took nothing for patience, ErrExited after
	// the end.
	Write(ctx context.Context, p []byte, patience time.Duration) (int, error)

	// The lock is held while any of the following is called.
	sync.Locker
	// Ending reports whether the program has ended; ended, whether its output has, too.
	Ending() (ending, ended bool)
	// View returns the terminal for reading.
	View() *vt.Terminal
	// Output returns how much output the screen shows, and when the last came; zero if
	// none did.
	Output() (offset uint64, last time.Time)
	// Activity returns what the program does; known is false while it paints. If the
	// answer may change without output, it does so after again; 0: only after a change.
	Activity() (a api.Activity, known bool, again time.Duration)
	// Typing returns whether a draft of a person is in the composer, and until when it
	// counts.
	Typing() (until time.Time, typing bool)
	// Mode returns how the program reads.
	Mode() Mode
	// Unread returns how many bytes the program has not read; known is false where the
	// system does not tell.
	Unread() (n int, known bool)
	// Change returns a channel that is closed at the next change.
	Change() <-chan struct{}
	// Journal returns the session's journal; nil when no trace of the session is left.
	Journal() *journal.Journal
}

// Program is what is known about a session's program.
type Program struct {
	Ready    string // begins the line of its composer; "" if it is not an agent
	Composer api.Composer
	Dialogs  []rule.Dialog
}

// located reports whether it is known where the program's composer is: on the line that
// Ready begins or, for an agent without Ready, at the terminal's cursor.
func (p Program) located() bool { return p.Ready != "" || len(p.Composer.Clear) > 0 }

// Mode is how a program reads.
type Mode struct {
	Cooked  bool // the terminal edits lines itself
	CRNL    bool // the terminal turns CR into LF
	Bracket bool // pastes are bracketed
}

// Screen is what a session shows. The session's lock is held.
type Screen struct {
	Term    *vt.Terminal
	Program Program
}
