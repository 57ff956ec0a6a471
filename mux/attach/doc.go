// Package attach shows a session of the multiplexer on a person's terminal
// ([Terminal]): it puts the terminal in raw mode, passes on keys and output, finds
// the detach keys, connects again when the server died, and undoes every mode at
// the end.
//
// It owns the terminal while [Terminal] runs, and does not touch it before the
// first connection is made. It writes only what the session shows and queries
// for the terminal's colours, and never leaves a mode behind: not after a
// signal, a panic or a dead server. It reaches the server only through
// mux/client.
//
// The native provider calls it; the command line uses its errors.
package attach
