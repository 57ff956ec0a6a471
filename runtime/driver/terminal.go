package driver

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"gascity.dev/gc/runtime"
)

// RunOnTerminal runs a backend's attach client on a new terminal and passes bytes
// and sizes both ways until the client ends. When ctx ends, the client gets HUP,
// and KILL after hangupTime. The caller's terminal is in raw mode meanwhile; its
// modes are always restored. If filter is not nil, input goes through it: send is
// passed on, and leave ends the client.
//
// A client that ended by a signal, or after ctx, is not an error; another nonzero
// status is an *exec.ExitError.
func RunOnTerminal(ctx context.Context, cmd *exec.Cmd, t runtime.Terminal, filter func(keys []byte) (send []byte, leave bool)) error {
	if in, ok := t.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		old, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(in.Fd()), old) }() // nothing more can be done
	}
	master, slave, err := OpenPTY()
	if err != nil {
		return err
	}
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	setSize(master, t)
	err = cmd.Start()
	slave.Close()
	if err != nil {
		return err
	}
	leave := make(chan struct{})
	ended := make(chan struct{})
	var tasks sync.WaitGroup
	tasks.Go(func() { _, _ = io.Copy(t.Out, master) }) // EIO at the client's end
	tasks.Go(func() { watchSize(ended, master, t) })
	tasks.Go(func() {
		select {
		case <-ctx.Done():
		case <-leave:
		case <-ended:
			return
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP) // the client detaches
		select {
		case <-time.After(hangupTime):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		case <-ended:
		}
	})
	go func() { // returns when t.In ends, or at the next key after the client's end
		if passKeys(master, t.In, filter) {
			close(leave)
		}
	}()
	err = cmd.Wait()
	close(ended)
	_ = master.SetReadDeadline(time.Now().Add(lastOutput)) // another process may still hold the terminal open
	tasks.Wait()
	var exit *exec.ExitError
	if ctx.Err() != nil || errors.As(err, &exit) && !exit.Exited() {
		return nil
	}
	return err
}

// hangupTime is how long a client may take to detach.
const hangupTime = 2 * time.Second

// lastOutput is how long the client's output is still read after its end.
const lastOutput = 500 * time.Millisecond

// passKeys copies input. leave is true if filter asked to leave.
func passKeys(to io.Writer, from io.Reader, filter func([]byte) ([]byte, bool)) (leave bool) {
	if filter == nil {
		_, _ = io.Copy(to, from)
		return false
	}
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		send, leave := filter(buf[:n])
		if len(send) > 0 {
			if _, err := to.Write(send); err != nil {
				return false
			}
		}
		if leave || err != nil {
			return leave
		}
	}
}

func setSize(master *os.File, t runtime.Terminal) {
	cols, rows := terminalSize(t)
	if cols > 0 && rows > 0 {
		_ = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	}
}

func terminalSize(t runtime.Terminal) (cols, rows int) {
	if t.Size != nil {
		cols, rows, err := t.Size()
		if err == nil {
			return cols, rows
		}
	}
	for _, end := range []any{t.Out, t.In} {
		if f, ok := end.(*os.File); ok {
			if cols, rows, err := term.GetSize(int(f.Fd())); err == nil {
				return cols, rows
			}
		}
	}
	return 80, 24
}

// watchSize follows the size of the caller's terminal.
func watchSize(ended <-chan struct{}, master *os.File, t runtime.Terminal) {
	resized := t.Resized
	if resized == nil {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGWINCH)
		defer signal.Stop(c)
		for {
			select {
			case <-c:
				setSize(master, t)
			case <-ended:
				return
			}
		}
	}
	for {
		select {
		case _, ok := <-resized:
			if !ok {
				resized = nil
				continue
			}
			setSize(master, t)
		case <-ended:
			return
		}
	}
}
