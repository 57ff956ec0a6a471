package program

import (
	"fmt"
	"strconv"
	"strings"

	"gascity.dev/gc/mux/api"
	"golang.org/x/sys/unix"
)

// Signal parses the name or number of a signal: "TERM", "SIGTERM", "term" and "15" are one.
func Signal(name string) (unix.Signal, error) {
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n < 65 {
		return unix.Signal(n), nil
	}
	upper := strings.ToUpper(name)
	if !strings.HasPrefix(upper, "SIG") {
		upper = "SIG" + upper
	}
	if sig := unix.SignalNum(upper); sig != 0 {
		return sig, nil
	}
	return 0, fmt.Errorf("%w: unknown signal %q", api.ErrRequest, name)
}
