//go:build !race

package wire

const slow = 1
