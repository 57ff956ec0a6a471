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

// RunOnTerminal runs a backend's own attach client on a terminal of its own and
// passes bytes and sizes both ways, until it ends or ctx does; then the client
// gets HUP, and two seconds later KILL. The caller's terminal is raw meanwhile
// and gets its modes back in every case. Input goes through filter when there is
// one: what it returns is sent, and leave ends the client.
//
// A client that a signal ended, or that ended after ctx, is no error; another
// status is an *exec.ExitError.
func RunOnTerminal(ctx context.Context, cmd *exec.Cmd, t runtime.Terminal, filter func(keys []byte) (send []byte, leave bool)) error {
	if in, ok := t.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		old, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(in.Fd()), old) }() // nothing is left to do about it
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
	go func() { // ends with t.In, or the next key after the end
		if passKeys(master, t.In, filter) {
			close(leave)
		}
	}()
	err = cmd.Wait()
	close(ended)
	_ = master.SetReadDeadline(time.Now().Add(lastOutput)) // somebody may still hold the terminal
	tasks.Wait()
	var exit *exec.ExitError
	if ctx.Err() != nil || errors.As(err, &exit) && !exit.Exited() {
		return nil
	}
	return err
}

// hangupTime is how long a client may take to detach.
const hangupTime = 2 * time.Second

// lastOutput is how long what a client wrote is read after its end.
const lastOutput = 500 * time.Millisecond

// passKeys copies input; true when filter says that the person leaves.
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

// watchSize follows the caller's terminal.
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
