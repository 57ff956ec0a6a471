// Package e2e drives real programs through the built gc, and compares the
// screens with those of a private tmux for the same keys. `make e2e` runs it
// (build tag e2e).
//
// Its invariant: every test has its own home, state directory and socket, and
// leaves no process behind. With CI=true a missing program (tmux, vim, less,
// top, python3) is a failure, otherwise a skip.
package e2e
