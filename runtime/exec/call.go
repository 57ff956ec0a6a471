package exec

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// request is one call of the script.
type request struct {
	op    string
	name  string // session; "" for protocol
	args  []string
	stdin string

	limit int  // of standard output, bytes; 0 = 1 MiB
	noEnd bool // bounded by the context alone
	// keeps: processes that the script leaves behind may be its work. Otherwise they
	// are killed if they still hold standard output.
	keeps bool
}

// answer is the result of a script that ended.
type answer struct {
	out    []byte
	code   int // exit status; 128+n for signal n
	stderr string
}

// Exit statuses of the protocol.
const (
	exitNotImplemented = 2
	exitTemporary      = 75 // EX_TEMPFAIL of sysexits.h
	exitCannotRun      = 126
	exitNoCommand      = 127
)

// Errors of a call without an answer.
var (
	errFlood   = errors.New("its output exceeds the limit")
	errTimeout = errors.New("timed out; its processes were killed")
)

// termGrace is how long a script may clean up between TERM and KILL.
const termGrace = 500 * time.Millisecond

// call runs the script once. It fails if there is no answer: the script could not be
// run, took too long or printed too much. Its process group is killed then.
func (p *Provider) call(ctx context.Context, r request) (answer, error) {
	inner := ctx
	if !r.noEnd {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, p.o.Timeout)
		defer cancel()
	}
	a, err := p.run(inner, r)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", errTimeout, ctx.Err())
	case inner.Err() != nil:
		err = fmt.Errorf("%w (%v): %w", errTimeout, p.o.Timeout, inner.Err())
	}
	return a, p.protocolError(r, err)
}

// what names a call in errors.
func (p *Provider) what(r request) string {
	text := "session script " + p.o.Script + ": " + r.op
	if r.name != "" {
		text += " " + r.name
	}
	return text
}

func (p *Provider) run(ctx context.Context, r request) (answer, error) {
	if err := cmp.Or(ctx.Err(), p.o.Deny); err != nil {
		return answer{}, err
	}
	args := []string{r.op}
	if r.op != opProtocol {
		args = append(args, r.name)
	}
	cmd := exec.Command(p.path, append(args, r.args...)...)
	cmd.Env = p.o.Environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s, err := openStreams(cmd)
	if err != nil {
		return answer{}, err
	}
	defer s.close()
	if err := cmd.Start(); err != nil {
		s.closeChild()
		return answer{}, err
	}
	s.closeChild()
	limit := r.limit
	if limit <= 0 {
		limit = outputLimit
	}
	flood := make(chan struct{})
	done := s.copy(r.stdin, limit, flood)
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	cause := error(nil)
	select {
	case err = <-exited:
	case <-ctx.Done():
		cause = ctx.Err()
	case <-flood:
		cause = fmt.Errorf("%w: %d bytes", errFlood, limit)
	}
	if cause != nil {
		endGroup(cmd.Process.Pid, exited)
	}
	if state := cmd.ProcessState; state != nil {
		p.spent.Add(int64(state.UserTime() + state.SystemTime()))
	}
	open := s.finish(done)
	if cause == nil && s.over(limit) {
		cause = fmt.Errorf("%w: %d bytes", errFlood, limit)
	}
	if cause != nil || open && !r.keeps {
		// Whatever holds our pipe is in that group, unless it left it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if cause != nil {
		return answer{}, cause
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return answer{}, err
	}
	return answer{out: s.out.Bytes(), code: exitCode(cmd.ProcessState), stderr: message(s.err.Bytes())}, nil
}

// endGroup ends a process group and waits for its leader.
func endGroup(pid int, exited <-chan error) {
	_ = syscall.Kill(-pid, syscall.SIGTERM) // it may be gone already
	timer := time.NewTimer(termGrace)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		<-exited
	}
}

func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// streams are the pipes to a script. The script's ends are separate files, so that
// waiting for it never waits for others that hold them.
type streams struct {
	in       *os.File // our end of standard input
	stdout   *os.File // our end of standard output
	stderr   *os.File
	child    []*os.File
	out, err bytes.Buffer
}

func openStreams(cmd *exec.Cmd) (*streams, error) {
	s := &streams{}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.in, s.child = inW, append(s.child, inR)
	for _, end := range []**os.File{&s.stdout, &s.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			s.closeChild()
			s.close()
			return nil, err
		}
		*end, s.child = r, append(s.child, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.child[0], s.child[1], s.child[2]
	return s, nil
}

func (s *streams) closeChild() {
	for _, f := range s.child {
		f.Close()
	}
}

func (s *streams) close() {
	for _, f := range []*os.File{s.in, s.stdout, s.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// errorTail is how many bytes of a script's standard error are kept.
const errorTail = 4 << 10

// copy serves the pipes; each channel closes when its pipe is done. flood closes if
// standard output exceeds limit.
func (s *streams) copy(stdin string, limit int, flood chan<- struct{}) []chan struct{} {
	done := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(done[0])
		_, _ = io.WriteString(s.in, stdin) // a script need not read it
		s.in.Close()
	}()
	go func() {
		defer close(done[1])
		n, _ := io.Copy(&s.out, io.LimitReader(s.stdout, int64(limit)+1))
		if n > int64(limit) {
			close(flood)
		}
	}()
	go func() {
		defer close(done[2])
		_, _ = io.Copy(tailOf{&s.err}, s.stderr)
	}()
	return done
}

// tailOf returns the last errorTail bytes.
type tailOf struct{ *bytes.Buffer }

func (t tailOf) Write(p []byte) (int, error) {
	t.Buffer.Write(p)
	if over := t.Len() - errorTail; over > 0 {
		t.Next(over)
	}
	return len(p), nil
}

// finish ends the copying after the script ended. It reads what is in the pipes,
// without waiting for others that hold them, and reports whether any process still
// holds standard output.
func (s *streams) finish(done []chan struct{}) (open bool) {
	past := time.Unix(1, 0)
	_ = s.in.SetWriteDeadline(past)
	_ = s.stdout.SetReadDeadline(past)
	_ = s.stderr.SetReadDeadline(past)
	for _, d := range done {
		<-d
	}
	open = drain(s.stdout, &s.out)
	drain(s.stderr, tailOf{&s.err})
	return open
}

// over reports whether the output exceeds limit bytes.
func (s *streams) over(limit int) bool { return s.out.Len() > limit }

// pipeSize is more than a pipe holds unless it was enlarged (pipe(7)).
const pipeSize = 1 << 20

// drain reads what a pipe holds now, without waiting. It returns true if the other
// end is still open.
func drain(f *os.File, w io.Writer) (open bool) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		return false
	}
	buf := make([]byte, 32<<10)
	for total := 0; total < pipeSize; {
		n := 0
		cerr := conn.Read(func(fd uintptr) bool {
			n, err = unix.Read(int(fd), buf)
			return true
		})
		switch {
		case cerr != nil:
			return false
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return errors.Is(err, unix.EAGAIN)
		case n <= 0:
			return false
		}
		total += n
		_, _ = w.Write(buf[:n])
	}
	return true
}

// message returns standard error as one line for a person.
func message(b []byte) string {
	var lines []string
	for line := range strings.SplitSeq(plain(string(b)), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if len(text) > 1000 {
		text = "…" + strings.ToValidUTF8(text[len(text)-1000:], "")
	}
	return text
}

// quoted shows output that cannot be parsed.
func quoted(b []byte) string {
	const most = 80
	if len(b) > most {
		return fmt.Sprintf("%q…", b[:most])
	}
	return fmt.Sprintf("%q", b)
}

// valid returns the answer as text, without trailing newlines.
func valid(out []byte) (string, error) {
	if !utf8.Valid(out) {
		return "", fmt.Errorf("it printed %s, which is not UTF-8", quoted(out))
	}
	return strings.TrimRight(string(out), "\n"), nil
}
