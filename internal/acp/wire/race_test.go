//go:build race

package wire

// slow is by how much the race detector may slow a test down.
const slow = 10
