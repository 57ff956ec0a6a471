package tmux

import (
	"os/exec"
	"strings"
	"testing"
)

// Ask expands a format on the server.
func Ask(t testing.TB, socket, format string) string { t.Helper(); return AskAt(t, socket, "", format) }

// AskAt expands a format for a target.
func AskAt(t testing.TB, socket, target, format string) string {
	t.Helper()
	args := []string{"-S", socket, "display-message", "-p"}
	if target != "" {
		args = append(args, "-t", target)
	}
	out, err := exec.Command("tmux", append(args, format)...).Output()
	if err != nil {
		t.Fatalf("ask tmux: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// KillServer kills the server if there is one.
func KillServer(t testing.TB, socket string) {
	t.Helper()
	out, err := exec.Command("tmux", "-S", socket, "kill-server").CombinedOutput()
	if err != nil && !strings.Contains(string(out), "no server running") && !strings.Contains(string(out), "error connecting") &&
		!strings.Contains(string(out), "server exited") { // it was exiting
		t.Errorf("kill tmux: %s", out)
	}
}

// FewQueries is how many queries are made without a connection.
const FewQueries = fewQueries

// Connected reports whether there is a connection.
func (p *Provider) Connected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn != nil
}
