package tui

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/tui/internal/terminal"
)

// resumedMsg says that the terminal is ours again.
type resumedMsg struct{}

// attachTo gives the whole terminal to the command that attaches, and takes it back.
func (p *program) attachTo(name string, cmd *exec.Cmd) tea.Cmd {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it restores the terminal
	run := &attachment{terminal: p.terminal, cmd: cmd}
	p.model.looker.set(nil) // nobody sees the screens meanwhile
	p.model.attaching = true
	return tea.Exec(run, func(err error) tea.Msg { return attachedMsg{name: name, err: err, said: run.said.last()} })
}

// attachedMsg says that an attachment ended.
type attachedMsg struct {
	name string
	err  error
	said string // the last line that it wrote about itself
}

func (m *model) attached(a attachedMsg) {
	m.attaching = false
	var exit *exec.ExitError
	switch {
	case a.err == nil:
		m.note(a.said, false, false)
	case errors.As(a.err, &exit) && a.said != "":
		m.note("attach "+a.name+": "+strings.TrimPrefix(a.said, "gc: "), true, true)
	default:
		m.note("attach "+a.name+": "+a.err.Error(), true, true)
	}
}

// attachment is a command that has the terminal until it ends.
type attachment struct {
	terminal *terminal.Terminal
	cmd      *exec.Cmd
	said     tail
}

// Run implements [tea.ExecCommand].
func (a *attachment) Run() error {
	if err := a.terminal.Leave(); err != nil {
		return err
	}
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = a.terminal.In, a.terminal.Out, io.MultiWriter(a.terminal.Out, &a.said)
	err := a.cmd.Run()
	if back := a.terminal.Enter(); err == nil {
		err = back
	}
	return err
}

// SetStdin, SetStdout and SetStderr implement [tea.ExecCommand]; the terminal is known.
func (*attachment) SetStdin(io.Reader)  {}
func (*attachment) SetStdout(io.Writer) {}
func (*attachment) SetStderr(io.Writer) {}

// tail keeps the end of what is written to it.
type tail struct{ end []byte }

// maxTail is how much it keeps.
const maxTail = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	if len(t.end) > maxTail {
		t.end = append(t.end[:0], t.end[len(t.end)-maxTail:]...)
	}
	return len(p), nil
}

// last returns the last line that is no hint.
func (t *tail) last() string {
	lines := bytes.Split(bytes.TrimSpace(t.end), []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(string(lines[i])); line != "" && !strings.HasPrefix(line, "hint:") {
			return line
		}
	}
	return ""
}

// pause stops the process until the shell continues it.
type pause struct{ terminal *terminal.Terminal }

// Run implements [tea.ExecCommand].
func (p *pause) Run() error {
	if err := p.terminal.Leave(); err != nil {
		return err
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGTSTP); err == nil {
		<-continued
	}
	return p.terminal.Enter()
}

// SetStdin, SetStdout and SetStderr implement [tea.ExecCommand]; the terminal is known.
func (*pause) SetStdin(io.Reader)  {}
func (*pause) SetStdout(io.Writer) {}
func (*pause) SetStderr(io.Writer) {}
