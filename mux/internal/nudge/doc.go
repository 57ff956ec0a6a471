// Package nudge types one message into a program on a terminal, submits it, and finds out
// from the screen whether the program took it.
//
// It owns the nudges of a session: their order, their outcome by id over restarts of the
// server, and what an unsubmitted one left in the composer. It reads the screen and the
// journal of a [Session] and types through it; it opens no descriptor, starts no program
// and speaks no HTTP. A byte is never typed twice, whenever the server is killed.
//
// Locks: nudges queue for each other, then hold the session's input lock while they type,
// and its lock only to read or note something.
//
// Only mux/server imports it.
package nudge
