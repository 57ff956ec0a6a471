// Package bench compares the built gc with a hello-world Go program and a
// private tmux in the same run: start-up, peek, memory, clients that wait or do
// not read, and the restart of a killed agent. `make bench` runs it.
//
// Figures are the minimum and median of at least 50 runs, alternating with
// those they are compared with, so that changes of the machine's load affect
// all of them.
package bench
