// Package attached serves the terminals that are attached to a session: what each is
// painted and sent, what its person types, and whose size the session has.
//
// It owns the clients of a session, their WebSockets, the draft of the people that type,
// and which sessions show which others. A client that falls behind loses output and is
// painted again; no session ever waits for one. It reads the screen of a [Session] and
// types through it; it opens no descriptor and starts no program.
//
// The session's lock guards everything here but the graph of nested sessions, which has
// a lock of its own that is taken last.
//
// Only mux/server imports it.
package attached
