// Package screens shows live screens of sessions: pushed when they change, never polled
// for a viewer.
//
// A [Hub] has one watch for each session that somebody looks at, however many do, and none
// when nobody does. Each viewer gets all rows once and then those that changed, as often
// as it asks; a slow one gets the newest screen, never a backlog, and holds up nobody.
//
// The package knows screens and when they change, not where they come from: that is a
// [Source]. It types nothing and resizes nothing. The multiplexer's server, the controller
// and the front-ends use it.
package screens

import (
	"fmt"
	"slices"

	"gascity.dev/gc/vt"
)

// States of a screen's session.
const (
	Running = "running"
	Exited  = "exited"  // the screen is the last one
	Gone    = "gone"    // there is no such session; Update.Why may say more
	Unknown = "unknown" // it cannot be told now; the rows are those that were last seen
)

// Screen is what a session shows. It is never changed after it was made.
type Screen struct {
	State       string    `json:"state"`
	Why         string    `json:"why,omitempty"`         // of Gone and Unknown: one line
	Incarnation string    `json:"incarnation,omitempty"` // id of the session
	Revision    uint64    `json:"revision"`              // another one means another screen; 0 without one
	Cols        int       `json:"cols"`
	Rows        int       `json:"rows"`
	Title       string    `json:"title,omitempty"`
	Cursor      vt.Cursor `json:"cursor"`
	Reverse     bool      `json:"reverse,omitempty"` // foreground and background are swapped (DECSCNM)
	Plain       bool      `json:"plain,omitempty"`   // text alone is known: no colours, no cursor
	Lines       []vt.Line `json:"lines"`
}

// Row is one row of a screen.
type Row struct {
	Y    int     `json:"y"`
	Line vt.Line `json:"line"`
}

// Update is what a viewer gets: a whole screen first, then what changed of it.
type Update struct {
	ID          string    `json:"id"` // of the session, as the viewer asked for it
	State       string    `json:"state"`
	Why         string    `json:"why,omitempty"`
	Incarnation string    `json:"incarnation,omitempty"`
	Revision    uint64    `json:"revision"`
	Cols        int       `json:"cols"` // size of the whole screen
	Rows        int       `json:"rows"`
	Title       string    `json:"title,omitempty"`
	Cursor      vt.Cursor `json:"cursor"`
	Reverse     bool      `json:"reverse,omitempty"`
	Plain       bool      `json:"plain,omitempty"`
	// Full says that Changed has every row of the crop: forget the rows before.
	Full bool `json:"full,omitempty"`
	// Top and Height are the rows that the crop shows, Width its columns.
	Top     int   `json:"top,omitempty"`
	Height  int   `json:"height"`
	Width   int   `json:"width"`
	Changed []Row `json:"changed,omitempty"` // Y counts in the whole screen
}

// Crop limits what a viewer gets of a screen; the zero value limits nothing.
type Crop struct {
	Cols int `json:"cols,omitempty"` // the first columns
	// Rows are the last rows down to the cursor or the last text, whichever is lower.
	Rows int `json:"rows,omitempty"`
}

// Look is what a viewer looks at.
type Look struct {
	ID   string  `json:"id"`
	Rate float64 `json:"rate,omitempty"` // updates a second at most; 0: DefaultRate
	Crop Crop    `json:"crop,omitzero"`
}

// Rates of updates, in updates a second.
const (
	DefaultRate = 30
	MaxRate     = 60
	minRate     = 0.01
)

// MaxLooks is how many sessions one viewer looks at, at most.
const MaxLooks = 2000

// CheckLooks returns an error for more than [MaxLooks].
func CheckLooks(looks []Look) error {
	if len(looks) > MaxLooks {
		return fmt.Errorf("%d sessions, at most %d", len(looks), MaxLooks)
	}
	return nil
}

// Viewer shows sessions. One goroutine calls Next; Look and Close may be called by others.
type Viewer interface {
	// Look replaces what the viewer looks at. A session that stays is not sent anew,
	// unless its crop is another one.
	Look(looks []Look) error
	// Next returns the next update, once there is one. An error is the end: the
	// connection broke, or Close was called.
	Next() (Update, error)
	Close() error
}

// Apply returns the screen after an update of the one before, which may be the zero value.
// It does not change s.
func (s Screen) Apply(u Update) Screen {
	next := Screen{
		State: u.State, Why: u.Why, Incarnation: u.Incarnation, Revision: u.Revision, Cols: u.Cols, Rows: u.Rows,
		Title: u.Title, Cursor: u.Cursor, Reverse: u.Reverse, Plain: u.Plain, Lines: make([]vt.Line, max(u.Rows, 0)),
	}
	if !u.Full {
		copy(next.Lines, s.Lines)
	}
	for _, r := range u.Changed {
		if r.Y >= 0 && r.Y < len(next.Lines) {
			next.Lines[r.Y] = r.Line
		}
	}
	return next
}

// sameLine reports whether two rows show the same.
func sameLine(a, b *vt.Line) bool {
	return a.Wrapped == b.Wrapped && a.Prompt == b.Prompt && slices.Equal(a.Runs, b.Runs)
}
