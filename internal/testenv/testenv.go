// Package testenv holds what tests of several packages need. Only tests import
// it.
package testenv

import (
	"flag"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// Need returns the path of the first of the programs. If one is missing, it
// skips the test, or fails it with CI=true: the build machine must have it.
func Need(t testing.TB, programs ...string) string {
	t.Helper()
	first := ""
	for _, program := range programs {
		path, err := exec.LookPath(program)
		if err != nil {
			Missing(t, err)
		}
		if first == "" {
			first = path
		}
	}
	return first
}

// Missing skips a test that lacks a real resource, and fails it with CI=true.
func Missing(t testing.TB, why ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why...)
	}
	t.Skip(why...)
}

// SideBySide lets n tests of the package run in parallel regardless of the
// number of cores, unless -parallel is given: for tests that mostly wait for
// programs. Call it from TestMain.
func SideBySide(n int) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", strconv.Itoa(n)) // the flag exists and the value is a number
	}
}

// Exit ends a test binary that served as a test's daemon, immediately: os.Exit
// waits a second for the race detector.
func Exit(status int) { syscall.Exit(status) }

// WriteProgram writes an executable file. It holds syscall.ForkLock: a child
// forked meanwhile would keep the file open for writing, and executing it would
// fail (ETXTBSY).
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}
