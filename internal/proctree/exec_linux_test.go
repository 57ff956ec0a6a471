package proctree

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestMarkedDuringExec: a marked process that keeps executing programs is never
// mistaken for an unmarked one.
func TestMarkedDuringExec(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("exec /bin/sh \"$0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", script)
	cmd.Env = []string{SessionVar + "=in-exec"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	p, err := Get(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	settled := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		is, known := marked(p, "in-exec")
		env, told, err := EnvironOf(p)
		if known && !is || err != nil || told && env[SessionVar] != "in-exec" {
			t.Fatalf("marked: %t, %t; environment: %v, %t, %v", is, known, env, told, err)
		}
		if known {
			settled++
		}
	}
	if settled == 0 {
		t.Error("nothing was ever known")
	}
}
