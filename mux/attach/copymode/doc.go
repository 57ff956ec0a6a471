// Package copymode is a person's view over a session as it was at one moment: its screen
// and, above it, its history, to scroll, search and copy.
//
// A [Model] has no terminal, clock or goroutine: keys go in, what to copy comes out, and
// [Model.Paint] draws it. It works on logical lines, which it wraps at the width of the
// person's terminal, and reads the history from a [Source] a page at a time. Lines keep
// their numbers, so output that comes meanwhile moves nothing.
//
// mux/attach shows it over an attached session.
package copymode
