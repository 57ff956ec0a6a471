package subprocess

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
)

// The parent's arguments; they are not for people.
const (
	parentName = "gc-subprocess"
	parentMark = "--gc-internal-subprocess"
)

// IsParent reports whether the process was started as the parent of a session. main
// checks it first.
func IsParent(argv []string) bool {
	return len(argv) == 2 && argv[0] == parentName && argv[1] == parentMark
}

// order is the parent's standard input.
type order struct {
	Dir     string   `json:"dir"`
	Name    string   `json:"name"`
	ID      string   `json:"id"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	WorkDir string   `json:"workDir"`
	Limit   int64    `json:"limit"` // of one output file, in bytes
}

// reply is the parent's standard output, written once.
type reply struct {
	Error string `json:"error,omitempty"`
}

// RunParent is the whole life of a parent; it returns the exit status. It ends after
// its child, or with an error that it has reported.
func RunParent() int {
	// Unlike ignoring, a handler is not inherited by the child.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGPIPE)
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return answer(err)
	}
	c, err := begin(o)
	if err != nil {
		return answer(err)
	}
	if status := answer(nil); status != 0 {
		return status
	}
	if err := c.see(); err != nil {
		return 1
	}
	return 0
}

// answer sends the reply and closes the connection to the starter, which may be gone:
// the session exists all the same.
func answer(err error) int {
	r, status := reply{}, 0
	if err != nil {
		r.Error, status = err.Error(), 1
	}
	_ = json.NewEncoder(os.Stdout).Encode(r)
	os.Stdin.Close()
	os.Stdout.Close()
	return status
}

// child is the running program as its parent sees it.
type child struct {
	cmd  *exec.Cmd
	out  *os.File
	keep *keeper
	dir  string
}

// begin starts the program and records which process it is.
func begin(o order) (*child, error) {
	keep, err := newKeeper(o.Dir, o.Limit)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	cmd := exec.Command(o.Argv[0], o.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = o.Env, o.WorkDir, w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := state{Name: o.Name, ID: o.ID, WorkDir: o.WorkDir, Created: time.Now()}
	s.Process, err = incarnation(cmd.Process.Pid)
	if err == nil {
		s.Parent, err = incarnation(os.Getpid())
	}
	if err == nil {
		err = writeWhole(filepath.Join(o.Dir, stateFile), s)
	}
	if err != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it could not be found otherwise
		return nil, errors.Join(err, cmd.Wait())
	}
	return &child{cmd, r, keep, o.Dir}, nil
}

func incarnation(pid int) (process, error) {
	p, err := proctree.Get(pid) // our child until we wait for it
	return process{p.PID, p.Start}, err
}

// see keeps the output until the program ends, and then records how it ended. Output
// of programs that it left behind is dropped.
func (c *child) see() error {
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(c.keep, c.out)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // a full disk must not stop the program
			_, _ = io.Copy(io.Discard, c.out)
		}
		copied <- err
	}()
	_ = c.cmd.Wait() // the state has the status
	err := c.out.SetReadDeadline(time.Now())
	if err == nil {
		if err = <-copied; errors.Is(err, os.ErrDeadlineExceeded) {
			err = drain(c.out, c.keep)
		}
	}
	werr := writeWhole(filepath.Join(c.dir, exitFile), exitOf(c.cmd.ProcessState))
	return errors.Join(err, werr)
}

// pipeSize is the most that a pipe may hold, in bytes; see pipe(7).
const pipeSize = 1 << 20

// drain copies what is in the pipe now, without waiting.
func drain(r *os.File, w io.Writer) error {
	if err := r.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	raw, err := r.SyscallConn()
	if err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for left := pipeSize; left > 0; {
		n := 0
		err = raw.Read(func(fd uintptr) bool { n, err = unix.Read(int(fd), buf); return true })
		if n <= 0 || err != nil {
			return nil
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

func exitOf(ps *os.ProcessState) runtime.Exit {
	e := runtime.Exit{Code: ps.ExitCode(), Reason: runtime.ReasonExited, Time: time.Now()}
	if ws, ok := ps.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Code, e.Signal, e.Reason = 128+int(ws.Signal()), unix.SignalName(ws.Signal()), runtime.ReasonKilled
	}
	return e
}
