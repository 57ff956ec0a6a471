package trim

import "runtime/debug"

// Memory gives back freed heap.
func Memory() { debug.FreeOSMemory() }
