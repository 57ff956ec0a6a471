package api

import "gascity.dev/gc/vt"

// PeekResult is what a session shows.
type PeekResult struct {
	ID         string     `json:"id,omitempty"`
	Name       string     `json:"name"`
	State      string     `json:"state,omitempty"`
	Revision   uint64     `json:"revision"`
	Unchanged  bool       `json:"unchanged,omitempty"` // the screen still has IfRevision; no other field is set
	Text       string     `json:"text,omitempty"`      // FormatText, FormatANSI
	Screen     *vt.Screen `json:"screen,omitempty"`    // FormatJSON
	ScreenLost bool       `json:"screenLost,omitempty"`
	// HistoryLost is the number of lost lines in the part of the history that the peek
	// read; a line in their place says so.
	HistoryLost int          `json:"historyLost,omitempty"`
	Lines       *LineNumbers `json:"lines,omitempty"` // of joined text with its history
	Exit        *Exit        `json:"exit,omitempty"`
	Error       *RemoteError `json:"error,omitempty"` // PeekMany only
}

// LineNumbers number the lines of a session for its life, so that a reader can
// continue where it was. A line is what the program ended with a line end, whatever
// the width. The alternate screen and an empty screen have no numbers.
type LineNumbers struct {
	First  uint64 `json:"first"`  // of the first line of the text
	Closed uint64 `json:"closed"` // lines with lower numbers have left the screen and no longer change
	Cursor uint64 `json:"cursor"` // of the line that the cursor is on
}
