// Package exec owns background commands: their start, their time limits, their input
// and output, their end, and its delivery to the session that owns the command.
//
// A command runs in a session of the multiplexer, which this package knows as a
// [Session] of its [Host]. Records, events and deliveries are in the Host's database
// (package process); the output is in a ring on disk. The end of a command, its event
// and its delivery are one write ([Host].Tx), and a delivery is typed at most once
// (package delivery).
//
// It never reads a terminal, starts a process or speaks HTTP: the host does
// that, writes the output of a session into its [Output], and calls
// [Commands.Ended]. The output of a foreground command whose callers lag is not
// read while [Output.Full] reports true; [Session].Resume continues it.
//
// Locks: a command's mu is taken before those of its session, of its output and of the
// tables in this package, which call nothing.
//
// Only mux/server imports it.
package exec
