//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gascity.dev/gc/internal/acp/acpsh"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv"
)

// gcBin is the binary under test, at a path used by nothing else.
var gcBin string

func TestMain(m *testing.M) {
	if acpsh.Called() {
		os.Exit(acpsh.Main(os.Args))
	}
	if file := os.Getenv(asksVar); file != "" {
		os.Exit(runAsker(file))
	}
	if ahead := os.Getenv(aheadVar); ahead != "" {
		os.Exit(runAhead(ahead))
	}
	os.Exit(runMain(m))
}

func runMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gc-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	gcBin = filepath.Join(dir, "gc")
	if err := placeBinary(gcBin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if left := runningFrom(gcBin); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "left behind: %+v\n", left)
		code = max(code, 1)
	}
	return code
}

// placeBinary copies GC_E2E_BIN, or builds the command.
func placeBinary(path string) error {
	if built := os.Getenv("GC_E2E_BIN"); built != "" {
		data, err := os.ReadFile(built)
		if err != nil {
			return err
		}
		return testenv.WriteProgram(path, data)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", path, "gascity.dev/gc/cmd/gc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// runningFrom lists the live processes of an executable.
func runningFrom(exe string) []proctree.Proc {
	all, err := proctree.Table()
	if err != nil {
		return nil
	}
	var found []proctree.Proc
	for _, p := range all {
		if path, err := proctree.Exe(p.PID); err == nil && path == exe && !p.Zombie() {
			found = append(found, p)
		}
	}
	return found
}

// need returns the path of a program that this machine must have.
func need(t testing.TB, program string) string {
	t.Helper()
	path := testenv.Need(t, program)
	if program != "python3" {
		return path
	}
	// A version manager's shim needs its own home; the tests use another.
	out, err := exec.Command(path, "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(out)
}

// runningWithHome lists the live processes of our binary or of a session that
// were started with that home.
func runningWithHome(home string) (found []proctree.Proc) {
	all, err := proctree.Table()
	if err != nil {
		return nil
	}
	for _, p := range all {
		if env, err := proctree.Environ(p.PID); err == nil && env["HOME"] == home && !p.Zombie() {
			found = append(found, p)
		}
	}
	return found
}
