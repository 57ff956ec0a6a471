// Package server owns sessions: their screens, input, nudges, waits, attachments,
// background commands and the /v1 API on a unix socket. [Run] is the whole life of the
// process. It may be killed at any moment: the next one continues from what the keeper
// and the journal hold.
//
// Locks, in the order in which they are taken: a background command's mu, a session's
// input lock (its nudges' lock before it), the server's mu, a session's mu. No lock is
// held while a client is waited for.
//
// Only package mux and tests import it.
package server
