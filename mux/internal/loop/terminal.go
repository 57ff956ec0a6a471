// Package loop reads many terminals, each when it has something: epoll and a few workers
// on Linux, a goroutine for each elsewhere.
//
// It owns the readiness of descriptors and no descriptor. It never reads or writes: a
// [Terminal] does, one turn at a time, with its lock held. The loop's own lock is taken
// last and calls nothing.
//
// Only mux/server imports it.
package loop

import "sync"

// Terminal is what a loop reads: a terminal, or a pipe. It is a pointer.
type Terminal interface {
	sync.Locker
	TryLock() bool

	// The lock is held while any of the following is called.

	// FD returns the descriptor; -1 after the end.
	FD() int
	// Turn reads a bounded part of what there is, after Writable if that applies. It
	// reports whether to call it again.
	Turn(writable bool) (again bool)
	// Writable notes that the terminal takes bytes again.
	Writable()
	// Wants reports whether output is to be read, and whether input waits for space.
	Wants() (output, space bool)
	// Resumed returns a channel that is closed when output is to be read again.
	Resumed() <-chan struct{}
}
