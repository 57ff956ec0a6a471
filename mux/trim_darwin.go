package mux

import "runtime/debug"

// trimMemory gives back freed heap.
func trimMemory() { debug.FreeOSMemory() }
