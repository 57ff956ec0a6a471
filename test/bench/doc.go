// Package bench measures the built gc beside a hello-world Go program and a
// private tmux of the same run: start-up, peek, memory, clients that wait or do
// not read, and the restart of a killed agent. `make bench` runs it.
//
// Every figure is given as minimum and median of at least 50 runs that alternate
// with those they are compared with, so that a change of the machine's load
// meets all of them.
package bench
