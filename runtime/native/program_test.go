package native_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

// program returns the process of the name in a session.
func program(t *testing.T, b *backend, session, name string) proctree.Proc {
	t.Helper()
	c, err := client.Dial(t.Context(), b.paths)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	info, err := c.Get(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	for {
		all, err := proctree.Tree{Root: info.PID, SID: info.PID, ID: info.ID}.Members()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if p.Matches([]string{name}) {
				return p
			}
		}
		if t.Context().Err() != nil {
			t.Fatalf("%s never ran in %s", name, session)
		}
	}
}

func TestAwaitProgramGone(t *testing.T) {
	b := newBackend(t)
	awaitsProgram(t, b, b.provider(t))
}

// On another machine it is known as soon as here. A machine that is lost is no program that
// has gone.
func TestAwaitProgramGoneFar(t *testing.T) {
	b := newFarBackend(t)
	p := b.provider(t)
	awaitsProgram(t, b.backend, p)
	b.cable.awaitKind(t, "gone") // those of before
	if err := p.Start(t.Context(), "lost", runtime.Config{Command: "sleep 1000", WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- p.AwaitProgramGone(t.Context(), "lost", []string{"sleep"}) }()
	b.cable.awaitKind(t, "gone")
	b.cable.cut(errors.New("no route to host"))
	if err := <-result; !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("lost: %v", err)
	}
	b.cable.cut(nil)
	if err := p.Stop(t.Context(), "lost"); err != nil {
		t.Error(err)
	}
}

func awaitsProgram(t *testing.T, b *backend, p *native.Provider) {
	t.Helper()
	names := []string{"sleep"}
	if err := p.AwaitProgramGone(t.Context(), "none", names); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("without a session: %v", err)
	}
	// The first sleep is followed by another one, the second by a shell that waits.
	if err := p.Start(t.Context(), "s", runtime.Config{Command: "sleep 1000; sleep 1001; cat", WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	first := program(t, b, "s", "sleep")
	gone := make(chan error, 1)
	go func() { gone <- p.AwaitProgramGone(t.Context(), "s", names) }()
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := program(t, b, "s", "sleep")
	for second.PID == first.PID { // not waited for yet
		second = program(t, b, "s", "sleep")
	}
	brief, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := p.AwaitProgramGone(brief, "s", names); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the second one runs: %v", err)
	}
	select {
	case err := <-gone:
		t.Fatalf("the program has begun again: %v", err)
	default:
	}
	begin := time.Now()
	if err := syscall.Kill(second.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("told after %v", took)
	}
	if running, err := p.IsRunning(t.Context(), "s"); !running || err != nil {
		t.Errorf("the session runs: %v, %v", running, err)
	}
	if err := p.Stop(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
}
