package attach

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// tmuxLimit is how long a tmux around the terminal may take to answer.
const tmuxLimit = time.Second

// through returns the processes that show the terminal if it is a pane of a tmux:
// the clients of the pane's session. It returns none elsewhere, and if tmux does
// not answer.
func through(ctx context.Context) []int {
	socket, _, _ := strings.Cut(os.Getenv("TMUX"), ",")
	pane := os.Getenv("TMUX_PANE")
	if socket == "" || pane == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tmuxLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "tmux", "-S", socket, "list-clients", "-t", pane, "-F", "#{client_pid}").Output()
	if err != nil {
		return nil
	}
	var pids []int
	for line := range strings.Lines(string(out)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
