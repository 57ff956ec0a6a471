package tmux_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gascity.dev/gc/runtime/tmux"
)

// What connections share goes with the last of them, also when that is killed;
// sessions stay. The server goes with the last session, and its socket.
func TestHolderGoesWithTheLastConnection(t *testing.T) {
	b := newBackend(t)
	first, second := b.provider(t), b.provider(t)
	begin(t, first, "a", "exec cat")
	for _, p := range []*tmux.Provider{first, second} {
		for !p.Connected() {
			if ok, err := p.IsRunning(t.Context(), "a"); !ok || err != nil {
				t.Fatalf("running: %v, %v", ok, err)
			}
		}
	}
	first.Close()
	if got := b.ask(t, "list-sessions", "-F", "#{session_name}"); got != "+gc\na" {
		t.Fatalf("with one connection: %q", got)
	}
	pid, err := strconv.Atoi(b.ask(t, "list-clients", "-F", "#{client_pid}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for got := ""; got != "a"; {
		got = b.ask(t, "list-sessions", "-F", "#{session_name}")
		if t.Context().Err() != nil {
			t.Fatalf("without a connection: %q", got)
		}
	}
	if err := second.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
}

// ask runs a command of tmux beside the provider.
func (b backend) ask(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", b.socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
