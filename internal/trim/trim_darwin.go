package trim

import "runtime/debug"

// Memory releases freed heap.
func Memory() { debug.FreeOSMemory() }
