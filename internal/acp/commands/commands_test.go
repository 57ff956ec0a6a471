package commands_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/acp/commands"
)

func leader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func newSet(t *testing.T) (*commands.Set, string) {
	dir := t.TempDir()
	s := commands.NewSet(dir, append(os.Environ(), "OWN=set"), leader)
	t.Cleanup(s.Close)
	return s, dir
}

func start(t *testing.T, s *commands.Set, spec commands.Spec) (string, *commands.Command) {
	t.Helper()
	id, err := s.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return id, c
}

// ended waits for the end and returns the output.
func ended(t *testing.T, c *commands.Command) string {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the command goes on")
	}
	text, _ := c.Output()
	return text
}

func TestLinesAndPrograms(t *testing.T) {
	s, dir := newSet(t)
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec       commands.Spec
		line, want string
	}{
		{commands.Spec{Command: "echo $OWN; echo err >&2"}, "echo $OWN; echo err >&2", "set\nerr\n"},
		{commands.Spec{Command: "printf", Args: []string{"%s|", "a b", "$OWN"}}, `printf '%s|' 'a b' '$OWN'`, "a b|$OWN|"},
		{commands.Spec{Command: "echo", Args: []string{}}, "echo", "\n"},
		{commands.Spec{Command: "echo $OWN", Env: []string{"OWN=my own"}}, "OWN='my own' echo $OWN", "my own\n"},
		{commands.Spec{Command: "basename $PWD", Dir: sub}, "basename $PWD", "sub\n"},
	} {
		if got := c.spec.Line(); got != c.line {
			t.Errorf("line %s, want %s", got, c.line)
		}
		if _, cmd := start(t, s, c.spec); ended(t, cmd) != c.want {
			t.Errorf("%s printed %q, want %q", c.line, ended(t, cmd), c.want)
		}
	}
}

func TestExit(t *testing.T) {
	s, _ := newSet(t)
	_, c := start(t, s, commands.Spec{Command: "exit 7"})
	ended(t, c)
	if code, sig, ok := c.Exit(); code != 7 || sig != "" || !ok {
		t.Error(code, sig, ok)
	}
	_, c = start(t, s, commands.Spec{Command: "exec sleep 1000"})
	if _, _, ok := c.Exit(); ok {
		t.Error("it has ended")
	}
	c.Kill()
	ended(t, c)
	if _, sig, ok := c.Exit(); sig != "SIGTERM" || !ok {
		t.Error(sig, ok)
	}
}

// The end of the output is kept, cut between characters.
func TestOutputIsCut(t *testing.T) {
	s, _ := newSet(t)
	_, c := start(t, s, commands.Spec{Command: "for i in 1 2 3 4 5 6 7 8 9; do printf 日; done; printf end", Limit: 10})
	ended(t, c)
	if text, cut := c.Output(); text != "日日end" || !cut {
		t.Errorf("%q, %v", text, cut)
	}
	_, c = start(t, s, commands.Spec{Command: "head -c 5000000 /dev/zero | tr '\\0' x"})
	ended(t, c)
	if text, cut := c.Output(); len(text) != commands.MaxOutput || strings.Trim(text, "x") != "" || !cut {
		t.Errorf("%d bytes, %v", len(text), cut)
	}
}

// A character whose rest has not come is not shown.
func TestOutputWhileItRuns(t *testing.T) {
	s, dir := newSet(t)
	_, c := start(t, s, commands.Spec{Command: `printf 'a\346\227'; touch half; until [ -e go ]; do sleep 0.01; done; printf '\245'`})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if text, _ := c.Output(); text == "a" {
			break
		} else if text != "" || time.Now().After(deadline) {
			t.Fatalf("%q", text)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, c); got != "a日" {
		t.Errorf("%q", got)
	}
}

// A release, and the end of the set, leave nothing of a command behind.
func TestNothingIsLeft(t *testing.T) {
	s, dir := newSet(t)
	line := "trap '' TERM; (trap '' TERM; echo $$ >ready; exec 3<>fifo; read x <&3) & wait"
	for _, end := range []func(id string) error{s.Release, func(string) error { s.Close(); return nil }} {
		if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
			t.Fatal(err)
		}
		id, c := start(t, s, commands.Spec{Command: line})
		ready := filepath.Join(dir, "ready")
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if b, _ := os.ReadFile(ready); len(b) > 0 {
				break
			} else if time.Now().After(deadline) {
				t.Fatal("it does not run")
			}
		}
		pid := c.PID()
		if err := end(id); err != nil {
			t.Fatal(err)
		}
		ended(t, c)
		for deadline := time.Now().Add(20 * time.Second); syscall.Kill(-pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the process group lives")
			}
		}
		if _, err := s.Get(id); !errors.Is(err, commands.ErrUnknown) {
			t.Error(err)
		}
		os.Remove(ready)
		os.Remove(filepath.Join(dir, "fifo"))
	}
}

func TestRefused(t *testing.T) {
	s, dir := newSet(t)
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []commands.Spec{
		{Command: "pwd", Dir: "/"}, {Command: "pwd", Dir: filepath.Join(dir, "out")}, {Command: "pwd", Dir: dir + "/.."},
		{Command: "pwd", Dir: "."}, {Command: "pwd", Dir: filepath.Join(dir, "none")}, {},
		{Command: "pwd", Env: []string{"A B=c"}}, {Command: "no-such-program", Args: []string{"x"}},
	} {
		if id, err := s.Start(spec); err == nil {
			t.Errorf("%+v is started: %s", spec, id)
		}
	}
	for range commands.MaxOpen {
		start(t, s, commands.Spec{Command: "exit 0"})
	}
	if _, err := s.Start(commands.Spec{Command: "exit 0"}); !errors.Is(err, commands.ErrTooMany) {
		t.Error(err)
	}
}
