// Package testenv says what tests may expect of the machine. Only tests import
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

// Need returns the path of the first of the programs. When one is missing the
// test is skipped, but fails with CI=true: the build machine must have it.
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

// Missing skips a test for want of something real, and fails it with CI=true.
func Missing(t testing.TB, why ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why...)
	}
	t.Skip(why...)
}

// SideBySide lets n tests of the package run at once, unless -parallel says
// otherwise, however few cores there are: for tests that mostly wait for
// programs. TestMain calls it.
func SideBySide(n int) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", strconv.Itoa(n)) // the flag is there, and a number
	}
}

// Exit ends a test binary that was the daemon of a test: at once, where os.Exit
// waits a second for the race detector.
func Exit(status int) { syscall.Exit(status) }

// WriteProgram writes an executable file. Nothing is started meanwhile: a child
// would hold the file open for writing, and it could not be run (ETXTBSY).
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}
