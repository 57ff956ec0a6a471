package commands

import (
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Command is a command that was started. Safe for concurrent use.
type Command struct {
	cmd  *exec.Cmd
	out  tail
	done chan struct{}
}

// PID is the id of the command's process and process group.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Done is closed when the command has ended.
func (c *Command) Done() <-chan struct{} { return c.done }

// Output returns the end of what the command has printed; cut: not all of it.
func (c *Command) Output() (text string, cut bool) { return c.out.text(c.ended()) }

func (c *Command) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Exit returns the exit status, or the signal that ended the command. ok is false while
// it runs.
func (c *Command) Exit() (code int, signal string, ok bool) {
	if !c.ended() {
		return 0, "", false
	}
	if ws, is := c.cmd.ProcessState.Sys().(syscall.WaitStatus); is && ws.Signaled() {
		return 0, unix.SignalName(ws.Signal()), true
	}
	return c.cmd.ProcessState.ExitCode(), "", true
}

// Kill ends the command: SIGTERM to its process group, and SIGKILL a little later.
func (c *Command) Kill() {
	c.signal(syscall.SIGTERM)
	time.AfterFunc(killTime, func() { c.signal(syscall.SIGKILL) })
}

// signal sends a signal to the process group of a command that runs.
func (c *Command) signal(s syscall.Signal) {
	if !c.ended() {
		_ = syscall.Kill(-c.PID(), s) // it may have just ended
	}
}

// tail keeps the last bytes of a stream. Safe for concurrent use.
type tail struct {
	limit int

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.limit { // seldom, so that a byte is moved once
		t.kept = append([]byte(nil), t.kept[len(t.kept)-t.limit:]...)
		t.cut = true
	}
	return len(p), nil
}

// text returns what is kept, cut between characters. over: nothing more will come.
func (t *tail) text(over bool) (string, bool) {
	t.mu.Lock()
	kept, cut := t.kept, t.cut
	if len(kept) > t.limit {
		kept, cut = kept[len(kept)-t.limit:], true
	}
	text := string(kept)
	t.mu.Unlock()
	for cut && text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	for n := 1; !over && n < utf8.UTFMax && n <= len(text); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if !utf8.FullRuneInString(text[at:]) {
				text = text[:at] // its rest will come
			}
			break
		}
	}
	return strings.ToValidUTF8(text, "�"), cut
}
