// Package mux is the multiplexer that hosts sessions: programs on terminals
// that outlive whoever started them.
//
// Three processes take part, all of them the same binary. The keeper is the
// parent of every program and of the server; it holds every descriptor that
// must survive and knows every exit. The server owns the screens, the input,
// the metadata and the API on a unix socket; it may die at any moment. A
// client ([Client]) is any other process.
//
// The one invariant: no session ends, and no exit is misreported, because the
// server died. What is known about a session's processes comes from the
// keeper and the kernel, never from a file with a PID in it.
//
// It serves runtime/native, runtime/k8s and cmd/gc.
package mux
