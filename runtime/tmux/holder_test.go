package tmux_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gascity.dev/gc/runtime/tmux"
)

// The session that connections share is removed with the last of them, even if
// that is killed; other sessions stay. The server and its socket are removed
// with the last session.
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

// connectVar makes the test binary another process with a connection to the named
// socket.
const connectVar = "GC_TMUX_TEST_CONNECT"

func connectAndStay(socket string) {
	p, err := tmux.New(tmux.Options{Socket: socket})
	for err == nil && !p.Connected() {
		fmt.Println(err)
		_, err = p.ListRunning(context.Background(), "")
	}
	fmt.Println(err)
	if err == nil {
		select {}
	}
	os.Exit(1)
}

// A connection ends with its process, whether that is killed before, during or after
// connecting.
func TestConnectionGoesWithItsProcess(t *testing.T) {
	b := newBackend(t)
	begin(t, b.provider(t), "a", "exec cat")
	for i := range 20 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), connectVar+"="+b.socket)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for range i % 10 { // eight queries, then the connection
			if line, err := lines.ReadString('\n'); line != "<nil>\n" {
				t.Fatalf("%q, %v", line, err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	for got := "+gc"; got != "a"; {
		got = b.ask(t, "list-sessions", "-F", "#{session_name}")
		if t.Context().Err() != nil {
			t.Fatalf("without the processes: %q", got)
		}
	}
}

// ask runs a tmux command outside the provider.
func (b backend) ask(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", b.socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
