// Package queue owns the messages that wait for a session: their place in mux.db, when
// each is typed, and how each ends.
//
// A message is leased, durably, before it is typed, and its nudge has an id of its own. So
// a server that follows a crash finds out whether a leased message was typed and never
// types it twice. It never types, reads a screen or speaks HTTP: a [Session] of its [Host]
// carries out the nudge, and the host serves the API.
//
// Its lock is taken last and calls nothing.
//
// Only mux/server imports it.
package queue
