package acpsh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"
)

// command is the shell command that the agent runs.
type command struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   io.ReadCloser
	last  atomic.Int64  // Unix nanoseconds of the last output
	done  chan struct{} // closed at the end of the process
	once  sync.Once
}

func start(line, dir string) (*command, error) {
	c := &command{cmd: exec.Command("/bin/sh", "-c", line), done: make(chan struct{})}
	c.cmd.Dir = dir
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.out, c.cmd.Stdout, c.cmd.Stderr = r, w, w
	if c.stdin, err = c.cmd.StdinPipe(); err == nil {
		err = c.cmd.Start()
	}
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	return c, nil
}

// read passes the output on until its end, in whole characters. The output ends with
// the command: a process that it left behind says nothing.
func (c *command) read(say func(string)) {
	go func() {
		c.wait()
		time.Sleep(quietTime) // for what is still in the pipe
		c.out.Close()
	}()
	buf, rest := make([]byte, 32<<10), 0
	for {
		n, err := c.out.Read(buf[rest:])
		c.last.Store(time.Now().UnixNano())
		whole := rest + n
		for cut := 1; err == nil && cut < utf8.UTFMax && cut <= whole; cut++ {
			if b := buf[whole-cut]; utf8.RuneStart(b) {
				if !utf8.FullRune(buf[whole-cut : whole]) {
					whole -= cut
				}
				break
			}
		}
		if whole > 0 {
			say(string(buf[:whole]))
		}
		rest = copy(buf, buf[whole:rest+n])
		if err != nil {
			return
		}
	}
}

// tell writes a line and waits until the output is quiet.
func (c *command) tell(ctx context.Context, text string) error {
	begin := time.Now()
	if _, err := io.WriteString(c.stdin, text+"\n"); err != nil {
		return fmt.Errorf("the command takes no input: %w", err)
	}
	tick := time.NewTicker(quietTime / 6)
	defer tick.Stop()
	for {
		last := time.Unix(0, max(c.last.Load(), begin.UnixNano()))
		if time.Since(last) >= quietTime || time.Since(begin) >= quietMost {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait returns the command's status, 128+n after signal n.
func (c *command) wait() int {
	c.once.Do(func() {
		err := c.cmd.Wait()
		if err != nil && !errors.As(err, new(*exec.ExitError)) {
			fmt.Fprintln(os.Stderr, err)
		}
		close(c.done)
	})
	<-c.done
	ws, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

// end ends the command: TERM, and KILL after endTime.
func (c *command) end() int {
	go c.wait()
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM) // it may have ended
	select {
	case <-c.done:
	case <-time.After(endTime):
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	}
	return c.wait()
}
