// Package tmuxshim speaks tmux's command language over the multiplexer: gc called as tmux,
// and gc tmux. It parses a command line, finds what it names in the record of package
// world, and asks the multiplexer; it keeps no process. docs/tmux-shim.md says what is the
// same as in tmux and what is not.
//
// [Run] is its only door. cmd/gc calls it.
package tmuxshim
