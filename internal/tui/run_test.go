package tui

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/vt"
)

// seat is a terminal with gc ui on it.
type seat struct {
	t      *testing.T
	master *os.File
	tty    *os.File
	before *term.State
	ended  chan error

	mu   sync.Mutex // guards the rest
	all  strings.Builder
	term *vt.Terminal
}

func seated(t *testing.T, ctx context.Context, source fleet.Fleet) *seat {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = master.Close(), tty.Close() })
	if err := pty.Setsize(master, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, master: master, tty: tty, ended: make(chan error, 1)}
	if s.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	if s.term, err = vt.New(vt.Options{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	go s.read()
	go func() {
		s.ended <- Run(ctx, source, Options{In: tty, Out: tty, Environ: []string{"TERM=xterm-256color"}, Colour: "auto",
			Attach: func(ctx context.Context, a *fleet.Agent) *exec.Cmd {
				return exec.CommandContext(ctx, "sh", "-c", `trap 'echo stopped; exit 1' TERM; echo "attached to $0"; read line; echo "detached from $0" >&2`, a.Name)
			}})
	}()
	return s
}

func (s *seat) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.all.Write(buf[:n])
		_, _ = s.term.Write(buf[:n]) // never fails
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// sees waits until the terminal shows a text.
func (s *seat) sees(text string) {
	s.t.Helper()
	s.until(text, func() bool { return strings.Contains(s.term.ScreenText(), text) })
}

func (s *seat) until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		done := ok()
		text := s.term.ScreenText()
		s.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no %s in\n%s", what, text)
		}
	}
}

func (s *seat) types(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// restored waits for the end, and checks that the terminal is as it was.
func (s *seat) restored() error {
	s.t.Helper()
	var err error
	select {
	case err = <-s.ended:
	case <-time.After(20 * time.Second):
		s.t.Fatal("it does not end")
	}
	if now, _ := term.GetState(int(s.tty.Fd())); *now != *s.before {
		s.t.Error("the terminal is still in raw mode")
	}
	s.until("main screen without modes", func() bool {
		m := s.term.Modes()
		return !m.AltScreen && !m.BracketedPaste && m.Mouse == vt.MouseNone && m.KittyFlags == 0 && m.Autowrap && s.term.Cursor().Visible
	})
	return err
}

func TestRun(t *testing.T) {
	f := &fleetfake.Fleet{}
	f.Set(town())
	s := seated(t, t.Context(), f)
	s.sees("Delete the branch?")
	s.types("\x1b[B")
	s.types("\r")
	s.sees("attached to mayor")
	s.until("terminal as it was", func() bool { return !s.term.Modes().AltScreen })
	s.types("x\n")
	s.sees("detached from mayor")
	s.sees("Needs you")
	if err := pty.Setsize(s.master, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	_ = s.term.Resize(80, 24)
	s.mu.Unlock()
	_ = syscall.Kill(os.Getpid(), syscall.SIGWINCH) // the terminal is not this process's
	s.sees("tab screen")
	s.types("q")
	if err := s.restored(); err != nil {
		t.Error(err)
	}
}

func TestRunEndsBySignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		f := &fleetfake.Fleet{}
		f.Set(town())
		s := seated(t, t.Context(), f)
		s.sees("Needs you")
		if sig == syscall.SIGTERM { // while another program has the terminal
			s.types("\r")
			s.sees("attached to web/coder")
		}
		_ = syscall.Kill(os.Getpid(), sig) // this process exists
		var by *SignalError
		if err := s.restored(); !errors.As(err, &by) || by.Signal != sig {
			t.Errorf("ended by %v", err)
		}
	}
}

// panics is a fleet in which something is wrong.
type panics struct{ *fleetfake.Fleet }

func (panics) Explain(context.Context, string) (fleet.Explanation, error) { panic("no explanation") }

func TestRunRestoresAfterPanic(t *testing.T) {
	f := &fleetfake.Fleet{}
	f.Set(town())
	s := seated(t, t.Context(), panics{f})
	s.sees("Needs you")
	s.types("x")
	if err := s.restored(); err == nil || !strings.Contains(err.Error(), "no explanation") || !strings.Contains(err.Error(), "run_test.go") {
		t.Errorf("ended by %v", err)
	}
	// And one that this package makes.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s = seated(t, ctx, watchPanics{f})
	if err := s.restored(); err == nil || !strings.Contains(err.Error(), "no fleet") {
		t.Errorf("ended by %v", err)
	}
}

type watchPanics struct{ *fleetfake.Fleet }

func (watchPanics) Watch(context.Context, func(fleet.Snapshot)) error { panic("no fleet") }

// TestRunIsStill: as long as nothing changes, nothing is written.
func TestRunIsStill(t *testing.T) {
	f := &fleetfake.Fleet{}
	f.Set(town())
	s := seated(t, t.Context(), f)
	s.sees("Needs you")
	s.mu.Lock()
	before := s.all.Len()
	s.mu.Unlock()
	for range 20 {
		f.Set(town()) // the same again
	}
	f.Happen(fleet.Event{Kind: "noise"})
	s.types("\x1b[B")
	s.until("another selection", func() bool { return s.all.Len() > before })
	s.mu.Lock()
	wrote := s.all.String()[before:]
	s.mu.Unlock()
	if n := strings.Count(wrote, "\x1b[?2026h"); n > 3 {
		t.Errorf("%d pictures: %q", n, wrote)
	}
	s.types("q")
	if err := s.restored(); err != nil {
		t.Error(err)
	}
}
