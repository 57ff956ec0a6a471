package server

import (
	"fmt"
	"io"
	"os"

	"gascity.dev/gc/internal/testenv"
)

// hostileVar makes the test binary a program that writes hostile output, "NAME BYTES",
// and then waits for its input to end.
const hostileVar = "MUX_TEST_HOSTILE"

func runHostile(what string) int {
	var name string
	var size int64
	if _, err := fmt.Sscan(what, &name, &size); err != nil {
		return 2
	}
	if err := rawTerminal(0); err != nil {
		return 1
	}
	for _, h := range testenv.HostileOutput() {
		if h.Name != name {
			continue
		}
		if err := h.WriteTo(os.Stdout, size); err != nil {
			return 1
		}
		fmt.Print("\x18\x1b[?2026l\x1bc\x1b]2;over\x07")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	return 3
}
