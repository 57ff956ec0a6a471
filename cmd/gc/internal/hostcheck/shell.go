package hostcheck

import (
	"context"
	"errors"
	"os"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/hosts/install"
	"gascity.dev/gc/mux/client"
)

// answerLimit is how long a machine may take to answer, with the questions that ssh
// may ask on a terminal.
const answerLimit = time.Minute

// HomeBin is where gc host install puts gc, which is often not on the PATH of a
// command over ssh.
func HomeBin() string { return "~/.local/bin/" + cli.Program }

// Shell opens a sh on a host and asks it about the machine.
func Shell(ctx context.Context, h *client.Host) (*install.Shell, error) {
	late := cli.Fail(cli.ExitCannotTell, "try it by hand: ssh "+h.Name, "%s: no answer within %s", h, answerLimit)
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, late)
	defer cancel()
	conn, err := h.Shell(ctx)
	if err != nil {
		return nil, err
	}
	s, err := install.Open(ctx, conn, words()...)
	var none *install.NoShellError
	if errors.As(err, &none) {
		return nil, cli.Fail(cli.ExitCannotTell, none.Hint(), "%s: %w", h, err)
	}
	return s, err
}

// words are what gc may be called on another machine.
func words() []string {
	if bin := os.Getenv("GC_HOST_BIN"); bin != "" {
		return []string{bin}
	}
	return []string{cli.Program, HomeBin()}
}

// Remembered is the path of gc that the registry keeps: none if its name suffices.
func Remembered(m install.Machine) string {
	if m.Version() == "" || m.Bin == cli.Program {
		return ""
	}
	return m.GC
}

// NoGC says why a machine has no gc that can be used.
func NoGC(m install.Machine) string {
	if m.GC == "" {
		return "there is no gc"
	}
	return m.GC + " is another program"
}
