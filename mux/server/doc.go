// Package server owns sessions: their screens, input, and the /v1 API on a unix socket.
// [Run] is the whole life of the process. It may be killed at any moment: the next
// one continues from what the keeper and the journal hold.
//
// Packages beside it know it by an interface: background commands (mux/exec), attached
// terminals (attached), the transaction of a nudge (nudge), queued messages (queue), waits
// (wait), the reading of terminals (loop). Others know nothing of it: the socket (endpoint), mux.db
// (muxdb), the program to start (program).
//
// A session is made of parts, each a type with its own state: life, tty, screen, storage,
// activity, input, nudges, clients, output. So is the server: sessions, keeper, journals,
// events, reaper, API, compactor. The parts share their owner's mu unless they say
// otherwise.
//
// Locks, in the order in which they are taken: a background command's mu (mux/exec), a
// session's input lock (its nudges' queue before it), the endpoint's, the server's mu, a
// session's mu, and those of the compactor, the loop, the nesting and a command's output,
// which call nothing. No lock is held while a client is waited for.
//
// Only package mux and tests import it.
package server
