// Package muxdb is what the server keeps in mux.db: metadata of sessions, the clock, and
// kills that a server could not finish. The queue and background commands keep theirs in
// buckets of their own.
//
// It knows ids, not sessions. Nothing of a session's existence depends on the file: a
// damaged one is set aside, and a full disk costs only what could not be written.
//
// Only mux/server imports it.
package muxdb
