package tmux_test

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimetest"
	"gascity.dev/gc/runtime/tmux"
)

// A killed tmux takes its sessions with it; this is reported, and a start starts a
// new server.
func TestServerKilled(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	begin(t, p, "a", "exec cat")
	b.kill(t)
	if ok, err := p.IsRunning(t.Context(), "a"); ok || err != nil {
		t.Fatalf("running: %v, %v", ok, err)
	}
	if _, err := p.Nudge(t.Context(), "a", runtime.TextContent("x")); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Fatalf("nudge: %v", err)
	}
	begin(t, p, "a", "exec cat")
}

// The same with a connection in use.
func TestServerKilledUnderAConnection(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	begin(t, p, "a", "exec cat")
	for !p.Connected() {
		if ok, err := p.IsRunning(t.Context(), "a"); !ok || err != nil {
			t.Fatalf("running: %v, %v", ok, err)
		}
	}
	b.kill(t)
	if err := p.SendKeys(t.Context(), "a", "x"); err != nil { // best effort: nothing is there
		t.Fatalf("keys: %v", err)
	}
	begin(t, p, "a", "exec cat")
}

// The server, a program's parent, is killed at one step of the start.
func TestServerKilledInTheMiddleOfAStart(t *testing.T) {
	const kill, stay = `kill -9 $PPID; `, `trap '' HUP; sleep 1000 & wait`
	for name, cfg := range map[string]runtime.Config{
		"at once":          {Command: kill + stay, ProcessNames: []string{"never"}},
		"before the setup": {Command: `until test -e ask; do sleep 0.01; done; ` + kill + stay, SessionSetup: []string{`touch ask; sleep 0.5`}, ReadyPromptPrefix: "never>"},
		"before the nudge": {Command: `stty raw -echo; printf 'ask> '; dd bs=1 count=1 >/dev/null 2>&1; ` + kill + stay, ReadyPromptPrefix: "ask>", Nudge: "go"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t)
			p := b.provider(t)
			cfg.WorkDir = t.TempDir()
			// Unique on the machine: it finds every process of the session.
			cfg.Env = map[string]string{"GC_SESSION_ID": "killed-" + filepath.Base(filepath.Dir(cfg.WorkDir))}
			err := p.Start(t.Context(), "a", cfg)
			if !errors.Is(err, runtime.ErrSessionDiedDuringStartup) {
				t.Errorf("start: %v", err)
			}
			if err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "%!") {
				t.Errorf("the error is %v", err)
			}
			roots, err := proctree.Roots(cfg.Env["GC_SESSION_ID"])
			if err != nil || len(roots) > 0 {
				t.Errorf("left behind: %+v, %v", roots, err)
			}
			files, err := filepath.Glob(filepath.Join(filepath.Dir(b.socket), "*-*"))
			if err != nil || len(files) > 0 {
				t.Errorf("left behind: %v, %v", files, err)
			}
			begin(t, p, "a", "exec cat")
		})
	}
}

// A server is killed between two starts' first query and their creation.
func TestServerKilledBeforeCreation(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	begin(t, p, "other", "exec cat")
	err := p.Start(t.Context(), "a", runtime.Config{
		WorkDir: t.TempDir(), Command: "exec cat", PreStart: []string{"kill -9 " + tmux.Ask(t, b.socket, "#{pid}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "other": false} {
		if ok, err := p.IsRunning(t.Context(), name); ok != want || err != nil {
			t.Errorf("%s is running: %v, %v", name, ok, err)
		}
	}
}

// The nudge's receipt is Dead.
func TestServerKilledInTheMiddleOfANudge(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	begin(t, p, "a", `stty raw -echo; printf ready; dd bs=1 count=1 >/dev/null 2>&1; kill -9 $PPID`)
	for screen := ""; !strings.Contains(screen, "ready"); {
		var err error
		if screen, err = p.Peek(t.Context(), "a", 0); err != nil {
			t.Fatal(err)
		}
	}
	r, err := p.Nudge(t.Context(), "a", runtime.TextContent("some text"))
	if err != nil || r.State != runtime.Dead {
		t.Errorf("%+v, %v", r, err)
	}
	begin(t, p, "a", "exec cat")
}

// Attach returns an error and restores the terminal.
func TestServerKilledWhileAttached(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	begin(t, p, "a", `printf ready; read -r x; kill -9 $PPID`)
	in, keys := io.Pipe()
	defer in.Close()
	var out runtimetest.ScreenBuffer
	done := make(chan error, 1)
	go func() {
		done <- p.Attach(t.Context(), "a", runtime.Terminal{
			In: in, Out: &out, Resized: make(chan struct{}),
			Size: func() (int, int, error) { return 80, 24, nil },
		})
	}()
	for !strings.Contains(out.String(), "ready") {
		if t.Context().Err() != nil {
			t.Fatalf("%q", out.String())
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := io.WriteString(keys, "x\r"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, runtime.ErrSessionNotFound) || strings.Contains(err.Error(), "\n") {
		t.Errorf("attach: %v", err)
	}
	begin(t, p, "a", "exec cat")
}

// begin starts a session and checks that it runs.
func begin(t *testing.T, p *tmux.Provider, name, command string) {
	t.Helper()
	if err := p.Start(t.Context(), name, runtime.Config{WorkDir: t.TempDir(), Command: command}); err != nil {
		t.Fatal(err)
	}
	if ok, err := p.IsRunning(t.Context(), name); !ok || err != nil {
		t.Fatalf("running: %v, %v", ok, err)
	}
}

// kill kills the server and waits for its end.
func (b backend) kill(t testing.TB) {
	t.Helper()
	pid := b.signal(t, syscall.SIGKILL)
	for {
		if proc, err := proctree.Get(pid); errors.Is(err, proctree.ErrNotFound) || err == nil && proc.Zombie() {
			return
		}
	}
}
