// Package sys wraps the system calls of the multiplexer: descriptors and terminals,
// peers of sockets, processes that are not our children, memory without a name, and
// the differences between Linux and macOS in all of them.
//
// It knows nothing of sessions, servers or keepers, and keeps no state. Only package
// mux and those below it call it.
package sys
