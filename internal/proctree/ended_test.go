package proctree_test

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
)

func TestEnded(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := proctree.Get(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := proctree.Ended(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a process that runs: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- proctree.Ended(t.Context(), p) }()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-done: // before it is reaped
	case <-time.After(10 * time.Second):
		t.Fatal("the end is not reported")
	}
	_ = cmd.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := proctree.Ended(t.Context(), p); err != nil {
		t.Fatalf("a process that is gone: %v", err)
	}
}
