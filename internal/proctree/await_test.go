package proctree_test

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
)

func TestAwaitEnd(t *testing.T) {
	start := func() (*exec.Cmd, proctree.Proc) {
		t.Helper()
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		p, err := proctree.Get(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return cmd, p
	}
	if err := proctree.AwaitEnd(t.Context(), nil); err != nil {
		t.Errorf("none: %v", err)
	}
	_, stays := start()
	ends, p := start()
	both := []proctree.Proc{stays, p}
	brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := proctree.AwaitEnd(brief, both); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while both live: %v", err)
	}
	over := make(chan error, 1)
	go func() { over <- proctree.AwaitEnd(t.Context(), both) }()
	if err := ends.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	_ = ends.Wait()
	if err := proctree.AwaitEnd(t.Context(), both); err != nil {
		t.Errorf("one that was collected: %v", err)
	}
}
