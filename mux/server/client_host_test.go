//go:build unix

package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
)

// farHost is a host whose program connects to a server of this machine, as gc mux dial
// of an old gc does, and records each run in the file.
func farHost(t *testing.T, c *client.Client) (client.Host, string) {
	t.Helper()
	runs := filepath.Join(t.TempDir(), "runs")
	t.Setenv("GC_TEST_DIAL", c.Paths().Socket)
	t.Setenv("GC_TEST_RUNS", runs)
	return client.Host{Name: "far", Program: os.Args[0]}, runs
}

// dialForTest is the test binary as such a program; see TestMain.
func dialForTest(socket string) int {
	if slices.Contains(os.Args, "--many") {
		fmt.Fprintln(os.Stderr, "gc: unknown flag: --many")
		return 2
	}
	f, err := os.OpenFile(os.Getenv("GC_TEST_RUNS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString("x")
	}
	conn, derr := net.Dial("unix", socket)
	if err = errors.Join(err, derr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	return 0
}

// TestHostHeld: the requests of a held client share at most two processes, and an
// attachment works beside them.
func TestHostHeld(t *testing.T) {
	c := startServer(t)
	create(t, c, "demo", "stty -echo; echo ready; exec cat")
	await(t, c, "demo", "ready")
	h, runs := farHost(t, c)
	far, err := h.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for range 50 {
		if _, err := far.Peek(t.Context(), api.PeekRequest{Name: "demo"}); err != nil {
			t.Fatal(err)
		}
	}
	if b, _ := os.ReadFile(runs); len(b) != 1 {
		t.Errorf("%d processes for requests one after the other", len(b))
	}
	p := persontest.New(t)
	p.Resize(120, 40)
	r := attachPerson(p, far, "demo", nil)
	p.Shows("ready")
	p.Types("over there\r")
	p.Shows("over there")
	var tasks sync.WaitGroup
	for range 2 {
		tasks.Go(func() {
			for range 20 {
				if _, err := far.Get(t.Context(), "demo"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	tasks.Wait()
	if b, _ := os.ReadFile(runs); len(b) > 1+1+2 {
		t.Errorf("%d processes for an attachment and two streams of requests", len(b))
	}
	p.Types("\x02d")
	r.want(attach.Detached)
}

func TestHostFails(t *testing.T) {
	for program, want := range map[string]struct {
		err  error
		text string
	}{
		`sh -c 'echo no route >&2; exit 255'`: {api.ErrUnreachable, "no route"},
		`sh -c 'exit 127'`:                    {api.ErrUnreachable, "gc was not found there"},
		`sh -c 'exit 3'`:                      {api.ErrNoServer, "no mux server"},
		`sh -c 'echo hello'`:                  {api.ErrUnreachable, ""},
		`/no/such/program`:                    {api.ErrUnreachable, ""},
		`sh -c 'sleep 2 >&- & exit 1'`:        {api.ErrUnreachable, "status 1"},
	} {
		_, err := client.Host{Name: "far", Program: program}.Dial(t.Context())
		if !errors.Is(err, want.err) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %v", program, err)
		}
		if _, err := (client.Host{Name: "far", Program: program}).Environ(t.Context()); err == nil {
			t.Errorf("%s: an environment", program)
		}
	}
}
