package api

import "gascity.dev/gc/vt"

// Limits of a [HistoryRequest].
const (
	MaxHistoryLines = 1000
	MaxFind         = 1000 // bytes of a pattern
)

// HistoryRequest reads lines of a session's history, which keep their numbers, or looks
// for one.
type HistoryRequest struct {
	From   uint64 `json:"from,omitempty"`   // the first line wanted, or where to look
	Count  int    `json:"count,omitempty"`  // at most MaxHistoryLines
	Screen bool   `json:"screen,omitempty"` // also the screen, and what is above it of its first line

	Find string `json:"find,omitempty"` // text to look for, at most MaxFind bytes
	Fold bool   `json:"fold,omitempty"` // Find is in lower case, and case means nothing
	Back bool   `json:"back,omitempty"` // look upwards
}

// HistoryResult is the reply to a [HistoryRequest].
type HistoryResult struct {
	First  uint64     `json:"first"`            // the oldest line that is kept
	Closed uint64     `json:"closed"`           // how many lines have left the screen: the number of the next one
	From   uint64     `json:"from"`             // of Lines: an older line is not kept
	Lines  []vt.Line  `json:"lines,omitempty"`  // unwrapped
	Screen *vt.Screen `json:"screen,omitempty"` //
	Open   *vt.Line   `json:"open,omitempty"`   // what is above the screen of the line that its first row continues
	Found  *uint64    `json:"found,omitempty"`  // the first line that contains Find
}
