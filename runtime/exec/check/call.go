package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/internal/shell"
)

// notImplemented is the exit status of an operation that a script lacks.
const notImplemented = 2

// heldLimit is how long standard output may stay open after the script ended.
const heldLimit = 2 * time.Second

// answer is the result of one call of the script.
type answer struct {
	out    string
	stderr string
	code   int
	held   bool // a process that the script left behind holds its standard output
	took   time.Duration
}

// text returns the output without trailing newlines.
func (a answer) text() string { return strings.TrimRight(a.out, "\n") }

func (a answer) String() string {
	text := fmt.Sprintf("exit status %d", a.code)
	if a.out != "" {
		text += fmt.Sprintf(", printed %q", clip(a.out))
	}
	if a.stderr != "" {
		text += fmt.Sprintf(", standard error %q", clip(a.stderr))
	}
	return text
}

func clip(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// limited keeps the first outputLimit bytes.
type limited struct{ bytes.Buffer }

const outputLimit = 16 << 20

func (l *limited) Write(p []byte) (int, error) {
	if room := outputLimit - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// call runs the script once. It fails if there is no answer; the script's process
// group is killed then.
func (r *run) call(op, name string, stdin string, args ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.o.Timeout)
	defer cancel()
	words := append([]string{op, name}, args...)
	if op == "protocol" {
		words = words[:1]
	}
	cmd := exec.CommandContext(ctx, r.path, words...)
	cmd.Env = append(r.env, "GC_CITY_PATH="+r.city, "GC_CITY="+r.city)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = heldLimit
	var out, stderr limited
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &stderr
	r.last = r.line(words, stdin)
	begin := time.Now()
	err := cmd.Run()
	a := answer{out: out.String(), stderr: strings.TrimSpace(stderr.String()), took: time.Since(begin)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return a, fmt.Errorf("%s did not answer within %v", op, r.o.Timeout)
	case errors.Is(err, exec.ErrWaitDelay):
		a.held = true
	case errors.As(err, &exit):
		if a.code = exit.ExitCode(); a.code < 0 {
			return a, fmt.Errorf("%s was killed by a signal: %v", op, exit)
		}
	case err != nil && !errors.Is(err, syscall.EPIPE): // a script need not read its input
		return a, err
	}
	return a, nil
}

// line returns a call as a shell command.
func (r *run) line(words []string, stdin string) string {
	text := ""
	if stdin != "" {
		text = "printf %s " + shell.Quote(stdin) + " | "
	}
	text += shell.Quote(r.path)
	for _, w := range words {
		text += " " + shell.Quote(w)
	}
	return text
}

// errMissing means that the script lacks the operation.
var errMissing = errors.New("not implemented")

// does makes a call that must succeed.
func (r *run) does(op, name, stdin string, args ...string) (answer, error) {
	a, err := r.call(op, name, stdin, args...)
	switch {
	case err != nil:
		return a, err
	case a.code == notImplemented:
		return a, errMissing
	case a.code != 0:
		return a, fmt.Errorf("%s: %v", op, a)
	}
	return a, nil
}

// prints makes a call that must print exactly one of the words.
func (r *run) prints(want, op, name, stdin string, args ...string) error {
	a, err := r.does(op, name, stdin, args...)
	if err == nil && a.text() != want {
		err = fmt.Errorf("%s printed %q instead of %q", op, clip(a.out), want)
	}
	return err
}

// eventually repeats f until it succeeds or the effect is late.
func (r *run) eventually(f func() error) error {
	ctx, cancel := context.WithTimeout(r.ctx, r.o.Effect)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil || errors.Is(err, errMissing) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
