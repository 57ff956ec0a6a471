//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/testenv/sshd"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/many"
)

// aheadVar makes the test binary the gc of another machine, of version dev, whose clock is
// ahead by its value.
const aheadVar = "GC_E2E_AHEAD"

// runAhead is gc mux dial --many there. Only what is told of the clock differs.
func runAhead(ahead string) int {
	d, err := time.ParseDuration(ahead)
	var paths api.Paths
	if err == nil {
		paths, err = api.DefaultPaths(os.Getenv)
	}
	if err == nil {
		s := &far.Server{Paths: paths, Version: "dev"}
		err = many.Serve(context.Background(), stdio{}, s.Hello(), func(ctx context.Context, r many.Request, conn net.Conn) {
			if r.Kind != "facts" {
				s.Handle(ctx, r, conn)
				return
			}
			f := s.Facts(ctx)
			f.Time = f.Time.Add(d)
			if b, err := json.Marshal(f); err == nil && many.Accept(conn) == nil {
				_, _ = conn.Write(append(b, '\n'))
			}
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gc:", err)
		return 1
	}
	return 0
}

// stdio is the standard streams.
type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return os.Stdin.Close() }

var _ io.ReadWriteCloser = stdio{}

// TestClockAnHourAhead: the check says so, and the times of sessions there are shown on the
// clock of this machine.
func TestClockAnHourAhead(t *testing.T) {
	h := sshd.Start(t, sshd.Options{GC: gcBin, Env: []string{aheadVar + "=1h"}})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	h.Run("mv .local/bin/gc .local/bin/gc.real && .local/bin/gc.real session new first -- cat")
	h.Write(".local/bin/ahead", string(data), 0o755)
	h.Write(".local/bin/gc", "#!/bin/sh\ncase $* in 'mux dial --many') exec ahead;; esac\nexec gc.real \"$@\"\n", 0o755)
	c := newCity(t, hostDaemon+onHost("a", h))
	c.env = append(c.env, "GC_SSH="+h.SSH())
	if out := c.gc("host", "check", h.URL()); !strings.Contains(out, "its clock is 1h0m0s ahead") {
		t.Errorf("%s", out)
	}
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"a": run})
	h.Run("kill $(pgrep -x -u " + h.User + " sleep)")
	eventually(t, func() string { return fmt.Sprintf("%+v", c.agents()) }, func() bool { return c.agents()["a"].LastExit != nil })
	// Its multiplexer has this machine's clock, so that its times now seem an hour old.
	want := time.Now().Add(-time.Hour)
	if at := c.agents()["a"].LastExit.Time; at.Before(want.Add(-time.Minute)) || at.After(want.Add(time.Minute)) {
		t.Errorf("it ended at %v, want about %v", at, want)
	}
	h.Run("gc.real mux stop --force")
}
