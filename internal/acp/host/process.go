package host

import (
	"cmp"
	"os"
	"os/exec"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"gascity.dev/gc/internal/acp/control"
)

// process is the agent's program: its pipes, the end of its standard error, its exit.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // the agent reads it
	out    *os.File // the agent writes it
	stderr *tail
	gone   chan struct{} // closed when it has ended and its standard error is read
}

// ours are the variables of the session that are not for the agent.
var ours = []string{control.SocketVar, control.NonceVar, "TERM", "COLORTERM"}

// agentEnv is the environment of the agent: the session's, without a terminal.
func agentEnv(session []string) []string {
	env := slices.DeleteFunc(slices.Clone(session), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(ours, name)
	})
	return append(env, "TERM=dumb")
}

// startProcess starts the agent in a session of its own without a controlling
// terminal: it cannot paint on the host's.
func startProcess(l control.Launch) (*process, error) {
	agentIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer agentIn.Close()
	out, agentOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer agentOut.Close()
	p := &process{in: in, out: out, stderr: &tail{}, gone: make(chan struct{})}
	p.cmd = exec.Command(cmp.Or(os.Getenv("SHELL"), "/bin/sh"), "-c", replaceShell(l.Command))
	p.cmd.Dir, p.cmd.Env = l.WorkDir, agentEnv(os.Environ())
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = agentIn, agentOut, p.stderr
	p.cmd.WaitDelay = stderrDelay // a grandchild may hold the pipe
	p.cmd.SysProcAttr = detached()
	started := make(chan error)
	go p.live(started)
	if err := <-started; err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return p, nil
}

// live starts the agent and waits for its end, on a thread of its own: the end of the
// thread that started it is what the kernel tells the agent of (PR_SET_PDEATHSIG of
// prctl(2)). On the thread of the loop each message would cost a switch of threads.
func (p *process) live(started chan<- error) {
	goruntime.LockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // the state says how it ended
		close(p.gone)
	}
}

// compound are the characters by which a command line can be more than one command.
const compound = ";&|(){}`\n"

// notPrograms are first words that a shell understands itself.
var notPrograms = []string{"exec", "eval", "command", "builtin", "source", ".", "!", "[", "time", "if", "for", "while", "until", "case", "function"}

// replaceShell lets a command line that is one command replace the shell that reads it.
// Some shells (dash) would wait for it instead: the signals for the agent, and the end of
// the host, would reach only the shell.
func replaceShell(command string) string {
	words := strings.Fields(command)
	if len(words) == 0 || strings.ContainsAny(command, compound) || strings.Contains(words[0], "=") || slices.Contains(notPrograms, words[0]) {
		return command
	}
	return "exec " + command
}

// signal sends a signal to the agent's process group.
func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.gone:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, s) // it may have just ended
	}
}

// status is the exit status after gone: 128+n for signal n, as a shell's.
func (p *process) status() int {
	st := p.cmd.ProcessState
	if st == nil {
		return 1
	}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}

// Limits of the agent's standard error kept.
const (
	tailLines = 20
	tailBytes = 16 << 10
)

// tail keeps the last lines of a stream. Safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-tailBytes):]...)
	if extra := len(t.text) - tailBytes; extra > tailBytes {
		t.text = slices.Clone(t.text[extra:])
	}
	return len(p), nil
}

// lines returns the last lines, without control characters.
func (t *tail) lines() []string {
	t.mu.Lock()
	text := string(t.text)
	t.mu.Unlock()
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(clean(line), " "); line != "" {
			out = append(out, line)
		}
	}
	return out[max(0, len(out)-tailLines):]
}

// clean removes control characters and invalid UTF-8.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '�':
			return -1
		}
		return r
	}, s)
}
