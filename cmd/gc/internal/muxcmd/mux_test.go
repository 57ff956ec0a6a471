package muxcmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv"
)

// TestUpgradeProgramThatHangs: a program that never reports its version is not gc,
// even if a child of it keeps its output open.
func TestUpgradeProgramThatHangs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, pidFile := filepath.Join(dir, "program"), filepath.Join(dir, "pid")
	script := "#!/bin/sh\nsleep 600 & echo $! >" + pidFile + "\nwait\n"
	if err := testenv.WriteProgram(program, []byte(script)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	_, _, err := upgradeProgram(ctx, program)
	var e *cli.Failure
	if !errors.As(err, &e) || e.Status() != cli.ExitUsage {
		t.Errorf("%v", err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
	for p, err := proctree.Get(pid); err == nil && p.Alive(); p, err = proctree.Get(pid) {
		if time.Since(start) > time.Minute {
			t.Fatalf("its child lives: %+v", p)
		}
		goruntime.Gosched()
	}
}
