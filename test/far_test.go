//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/internal/testenv/sshd"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/runtimetest"
)

// farLink is a link by ssh to a host.
func farLink(t *testing.T, h *sshd.Host) *link.Link {
	t.Helper()
	host, err := client.ParseHost(h.URL())
	if err != nil {
		t.Fatal(err)
	}
	host.Program, host.Bin = h.SSH(), h.GC
	l := link.New(h.URL(), host.Stream, many.Hello{Version: "test"})
	t.Cleanup(func() { l.Close() })
	return l
}

func farProvider(t *testing.T, h *sshd.Host, l *link.Link) *native.Provider {
	t.Helper()
	p, err := native.New(native.Options{Version: "test", StopGrace: 500 * time.Millisecond, Machine: far.NewClient(h.URL(), l)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestConformanceSSH: the contract holds over a real ssh.
func TestConformanceSSH(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		// The suite looks into the work dirs, and knows what sessions inherit.
		h := sshd.Start(t, sshd.Options{GC: gcBin, SameUser: true, Env: []string{"LOWER=base", "PLAIN=zero"}})
		home := os.Getenv("HOME")
		os.Setenv("HOME", h.Home) // as t.Setenv, which rules out parallel cases
		t.Cleanup(func() { os.Setenv("HOME", home) })
		l := farLink(t, h)
		p := farProvider(t, h, l)
		return runtimetest.Harness{
			Provider: p,
			Reopen:   func(t *testing.T) runtime.Provider { return farProvider(t, h, l) },
			Hang: func(t *testing.T) func() {
				c, err := p.Client(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s, err := c.Status(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(s.Server.PID, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				return func() { _ = syscall.Kill(s.Server.PID, syscall.SIGCONT) }
			},
		}
	})
}

// TestNudgesOverCutSSH: while the connection is cut again and again, each message is typed
// once, and has its receipt. With GC_SOAK there are 2,000.
func TestNudgesOverCutSSH(t *testing.T) {
	nudges := 50
	if os.Getenv("GC_SOAK") != "" {
		nudges = 2000
	}
	h := sshd.Start(t, sshd.Options{GC: gcBin, SameUser: true})
	p := farProvider(t, h, farLink(t, h))
	work := t.TempDir()
	if err := p.Start(t.Context(), "s", runtime.Config{WorkDir: work, Command: `stty -echo; while read -r line; do echo "$line" >> lines; echo "got $line"; done`}); err != nil {
		t.Fatal(err)
	}
	const cutEach = 10 // on average
	var cutter sync.WaitGroup
	var cuts int
	var want []string
	for n := range nudges {
		if n == cutEach || rand.IntN(cutEach) == 0 { // random on purpose
			cuts++
			cutter.Go(func() {
				time.Sleep(rand.N(20 * time.Millisecond)) // somewhere in the message
				h.Cut()
			})
		}
		text := fmt.Sprintf("message-%d", n)
		var got runtime.Receipt
		var err error
		for err = errors.New("not sent"); err != nil && t.Context().Err() == nil; {
			got, err = p.Nudge(t.Context(), "s", runtime.TextContent(text))
			if err != nil && (!errors.Is(err, runtime.ErrBackendUnreachable) || strings.Contains(err.Error(), "may have been typed")) {
				t.Fatalf("%s: %v", text, err)
			}
			if err != nil {
				time.Sleep(20 * time.Millisecond)
			}
		}
		if got.State != runtime.Submitted && got.State != runtime.Unverified {
			t.Fatalf("%s: %+v", text, got)
		}
		want = append(want, text)
	}
	cutter.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		data, err := os.ReadFile(filepath.Join(work, "lines"))
		if got := strings.Fields(string(data)); err == nil && len(got) >= len(want) || ctx.Err() != nil {
			if !slices.Equal(got, want) {
				t.Errorf("typed %q, %v", got, err)
			}
			t.Logf("%d messages, %d cuts", nudges, cuts)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestFarUser: what is done on another machine is done by its user, and with nothing of
// this one's; the multiplexer of a third user there is an error, not one without sessions.
func TestFarUser(t *testing.T) {
	h := sshd.Start(t, sshd.Options{GC: gcBin})
	m := far.NewClient(h.URL(), farLink(t, h))
	p, err := native.New(native.Options{Version: "test", Machine: m, MakeWorkDir: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	over, work := t.TempDir(), filepath.Join(h.Home, "work")
	if err := os.WriteFile(filepath.Join(over, "staged"), []byte("text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), "s", runtime.Config{
		WorkDir: work, OverlayDir: over, PreStart: []string{"id -u > pre"}, Command: "echo $HOME $GC_BIN; id -u; exec cat",
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.WaitFor(t.Context(), "s", []runtime.Condition{{Text: fmt.Sprint(h.UID)}}); err != nil {
		t.Fatal(err)
	}
	screen, err := p.Peek(t.Context(), "s", 0)
	if want := fmt.Sprintf("%s %s\n%d", h.Home, h.GC, h.UID); err != nil || !strings.HasPrefix(screen, want) {
		t.Errorf("%q, %v, want %q", screen, err, want)
	}
	if got, want := h.Run("cd work; cat pre staged; stat -c %u staged .gc/staged.json"), fmt.Sprintf("%[1]d\ntext\n%[1]d\n%[1]d\n", h.UID); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f, err := m.Facts(t.Context())
	if err != nil || f.User != h.User || f.UID != h.UID || f.Home != h.Home || f.MuxSessions != 1 {
		t.Errorf("%+v, %v", f, err)
	}

	// This user's, where the other one looks.
	b := newBox(t)
	b.gc("session", "new", name, "--", "cat")
	other := sshd.Start(t, sshd.Options{Name: "other", GC: gcBin, Env: []string{"GC_MUX_SOCKET=" + b.socket}})
	if other.UID == os.Getuid() {
		testenv.Missing(t, "only root can be two users")
	}
	q := farProvider(t, other, farLink(t, other))
	running, err := q.IsRunning(t.Context(), name)
	if running || err == nil || errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("%v, %v", running, err)
	}
	err = q.Start(t.Context(), name, runtime.Config{Command: "cat"})
	if !runtime.IsBackendFailure(err) {
		t.Errorf("%v", err)
	}
}

// TestStalledSSH: a link that is stalled but not cut is an unreachable machine, soon; when
// it flows again, nothing has changed. A long way does no harm.
func TestStalledSSH(t *testing.T) {
	h := sshd.Start(t, sshd.Options{GC: gcBin, SameUser: true, Faults: true})
	p := farProvider(t, h, farLink(t, h))
	h.Delay(40 * time.Millisecond)
	if err := p.Start(t.Context(), "s", runtime.Config{WorkDir: t.TempDir(), Command: "exec cat"}); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Nudge(t.Context(), "s", runtime.TextContent("hello")); err != nil || r.State != runtime.Submitted && r.State != runtime.Unverified {
		t.Errorf("%+v, %v", r, err)
	}
	h.Delay(0)
	h.Stall()
	begin := time.Now()
	running, err := p.IsRunning(t.Context(), "s")
	if running || !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("%v, %v", running, err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("told after %v", took)
	}
	h.Resume()
	for running = false; !running && t.Context().Err() == nil; {
		running, err = p.IsRunning(t.Context(), "s")
		if err != nil && !errors.Is(err, runtime.ErrBackendUnreachable) {
			t.Fatal(err)
		}
	}
}
