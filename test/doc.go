// Package e2e drives real programs through the built gc, and compares the
// screens with what a private tmux shows for the same keys. It is run by `make
// e2e` (build tag e2e).
//
// Its invariant: every test has a home, a state folder and a socket of its own,
// and leaves no process behind. With CI=true a missing program (tmux, vim,
// less, top, python3) is a failure, elsewhere a skip.
package e2e
