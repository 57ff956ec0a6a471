package tui

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	goruntime "runtime"
	"syscall"

	"golang.org/x/term"

	"gascity.dev/gc/internal/tui/internal/terminal"
)

// Supervise runs a program that calls [Run] on the terminal in and out, and returns its exit
// status. It restores the terminal when the program ends without doing so: by a panic in any
// goroutine, or by SIGKILL. What the program writes to standard error is written afterwards,
// when it can be read. Signals are passed on.
func Supervise(cmd *exec.Cmd, in, out, diag *os.File) (status int, err error) {
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return 0, errors.New("gc ui requires a terminal")
	}
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = in, out, &said, endsWithParent()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	goruntime.LockOSThread() // the end of the thread that starts it ends the program
	defer goruntime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // it may have ended
			case <-ended:
				return
			}
		}
	}()
	_ = cmd.Wait() // how it ended is in ProcessState
	close(ended)
	<-passed
	if now, asked := term.GetState(int(in.Fd())); asked == nil && *now != *before {
		err = terminal.Restore(in, out, before)
	}
	_, _ = diag.Write(said.Bytes()) // the terminal may be gone
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), err
	}
	return cmd.ProcessState.ExitCode(), err
}
