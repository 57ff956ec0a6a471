// Package api is what a city's controller shares with its clients: the calls over
// its socket, their types and errors, and the paths and the lock of the city's .gc
// folder.
//
// Its invariant: it knows nothing of how the controller works. The server calls a
// [City]; the client links no more than this package. It serves the command line
// and the controller.
package api
