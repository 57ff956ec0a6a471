// Package mux is the multiplexer that hosts sessions: programs on terminals
// that outlive the process that started them.
//
// Three processes take part, all of them the same binary. The keeper (package keeper)
// is the parent of every program and of the server; it holds every descriptor that
// must survive and knows every exit. The server (package server) owns the screens, the
// input, the metadata and the API on a unix socket; it may die at any moment. A client
// (package client) is any other process; package api is the protocol between it and
// the server.
//
// The one invariant: no session ends, and no exit is misreported, because the server
// died. All knowledge of a session's processes comes from the keeper and the kernel,
// never from a file with a PID in it.
//
// The package itself is only main's entry to the two daemons.
package mux
