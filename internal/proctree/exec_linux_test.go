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
	known := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		is, sure := hasMarker(p, map[string]bool{"in-exec": true})
		env, reported, err := EnvironOf(p)
		if sure && !is || err != nil || reported && env[SessionVar] != "in-exec" {
			t.Fatalf("marked: %t, %t; environment: %v, %t, %v", is, sure, env, reported, err)
		}
		if sure {
			known++
		}
	}
	if known == 0 {
		t.Error("nothing was ever known")
	}
}
