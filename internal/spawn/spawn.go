// Package spawn runs one command to its end: a program beside an agent, or a shell line of
// the start sequence.
//
// Its invariant: when the context ends, the command's whole process group is killed, and a
// child that the command left behind delays Run for at most a second. Providers
// use it for this machine, and internal/far for the gc of another one.
package spawn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Command is what to run.
type Command struct {
	Argv []string // the program is looked up in Env's PATH
	Line string   // for /bin/sh, in place of Argv

	Dir string   // "" = the caller's
	Env []string // the whole environment

	Stdin          io.Reader // nil: nothing
	Stdout, Stderr io.Writer // nil: discarded
}

// drain is how long output is still read after a command's end: a child that it left
// behind may hold the pipe open forever.
const drain = time.Second

// Run runs a command and returns its exit status, 128+n after signal n. An error means that
// it was not started, or that ctx ended. Run does not wait for the rest of Stdin after the
// command's end.
func Run(ctx context.Context, c Command) (code int, err error) {
	path, args := "/bin/sh", []string{"/bin/sh", "-c", c.Line}
	if len(c.Argv) > 0 {
		if path, err = lookPath(c.Argv[0], c.path(), c.Dir); err != nil {
			return 0, err
		}
		args = c.Argv
	} else if c.Line == "" {
		return 0, errors.New("no command")
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Dir, cmd.Stdout, cmd.Stderr = args, c.Dir, c.Stdout, c.Stderr
	cmd.Env = append([]string{}, c.Env...) // nil would mean this process's environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drain
	if c.Stdin != nil {
		in, err := cmd.StdinPipe()
		if err != nil {
			return 0, err
		}
		defer in.Close()
		go func() { // ends with Stdin, or at the next write after the command's end
			_, _ = io.Copy(in, c.Stdin)
			in.Close()
		}()
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 1, ctx.Err()
	case errors.As(err, &exit):
		return exitCode(exit), nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return 0, err
	}
	return 0, nil
}

// Failure returns the error of a shell line, including its output, for what Run returned;
// nil for success.
func Failure(line, output string, code int, err error) error {
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d", code)
	}
	if err == nil {
		return nil
	}
	if text := strings.TrimSpace(output); text != "" {
		return fmt.Errorf("%q: %w: %s", line, err, text)
	}
	return fmt.Errorf("%q: %w", line, err)
}

// path returns the PATH of the command's environment.
func (c Command) path() string {
	path := ""
	for _, kv := range c.Env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	return path
}

// exitCode returns the exit status, 128+n for signal n.
func exitCode(e *exec.ExitError) int {
	if ws, ok := e.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return e.ExitCode()
}

// lookPath finds a command as a program in dir with the given PATH would.
func lookPath(name, path, dir string) (string, error) {
	if filepath.Base(name) != name {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		full := filepath.Join(d, name)
		if executable(full) == nil {
			return full, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return &fs.PathError{Op: "exec", Path: path, Err: fs.ErrPermission}
	}
	return nil
}
