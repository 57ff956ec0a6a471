package mux

import "gascity.dev/gc/vt"

// PeekResult is what a session shows.
type PeekResult struct {
	ID         string       `json:"id,omitempty"`
	Name       string       `json:"name"`
	State      string       `json:"state,omitempty"`
	Revision   uint64       `json:"revision"`
	Unchanged  bool         `json:"unchanged,omitempty"` // the screen still has IfRevision; nothing else is set
	Text       string       `json:"text,omitempty"`      // FormatText, FormatANSI
	Screen     *vt.Screen   `json:"screen,omitempty"`    // FormatJSON
	ScreenLost bool         `json:"screenLost,omitempty"`
	Exit       *Exit        `json:"exit,omitempty"`
	Error      *RemoteError `json:"error,omitempty"` // PeekMany only
}
