package tmux

import (
	"os/exec"
	"strings"
	"testing"
)

// Ask returns what a format is on the server.
func Ask(t *testing.T, socket, format string) string {
	t.Helper()
	out, err := exec.Command("tmux", "-S", socket, "display-message", "-p", format).Output()
	if err != nil {
		t.Fatalf("ask tmux: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// KillServer ends the server when there is one.
func KillServer(t *testing.T, socket string) {
	t.Helper()
	if out, err := exec.Command("tmux", "-S", socket, "kill-server").CombinedOutput(); err != nil && !strings.Contains(string(out), "no server running") && !strings.Contains(string(out), "error connecting") {
		t.Errorf("kill tmux: %s", out)
	}
}
