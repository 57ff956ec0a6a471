package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

var outputRules = []rule{
	{"peek", "shows what the program wrote, the last LINES or all", "callers see no prompt, no dialogs and no last output", peeks},
	{"peek", "fails with \"session not found\" without a session", "callers mistake an empty screen for an idle agent",
		func(r *run) error { return r.failsAsGone("peek", "", "0") }},
	{"process-alive", "finds processes of the session by name, and no others", "callers restart a live agent or keep a dead one", processes},
	{"get-last-activity", "prints the time of the last output (RFC 3339), or nothing", "callers stop working agents, or never stop idle ones", activity},
	{"peek", "with peek-screen, shows only the live screen for \"screen\"", "callers find start-up dialogs in old output", peekScreen},
	{"peek", "with last-screen, shows the last screen of an ended program", "callers report a crash without its reason", lastScreen},
	{"clear-scrollback", "drops the scrollback and keeps the screen", "old output reappears", clears},
	{"clear-scrollback", "succeeds without a session", gone, func(r *run) error { return r.succeedsAsGone("clear-scrollback", "") }},
	{"attach", "shows the session on a terminal and leaves it running", "a person sees nothing, or ends the agent by detaching", attaches},
	{"is-attached", "prints true while a person is attached, else false", "callers stop a session that a person uses", func(r *run) error {
		return r.prints("false", "is-attached", r.name(), "")
	}},
	{"last-exit", "reports the exit status, if declared", "callers report the wrong cause of an end", lastExit},
}

func peeks(r *run) error {
	h, err := r.tryStart(r.name(), config{"command": `i=1; while [ $i -le 60 ]; do echo "line $i é"; i=$((i + 1)); done; exec sleep 1000`})
	if err != nil {
		return err
	}
	var all answer
	if err := r.eventually(func() (err error) {
		if all, err = r.does("peek", h.name, "", "0"); err == nil && !strings.Contains(all.out, "line 60 é") {
			err = fmt.Errorf("peek 0 does not show the last line: %q", clip(all.out))
		}
		return err
	}); err != nil {
		return err
	}
	if !utf8.ValidString(all.out) {
		return errors.New("peek prints bytes that are not UTF-8")
	}
	if !strings.Contains(all.out, "line 1 é") {
		return errors.New("peek 0 does not show the first of 60 lines")
	}
	a, err := r.does("peek", h.name, "", "5")
	if err != nil {
		return err
	}
	if !strings.Contains(a.out, "line 60 é") || strings.Contains(a.out, "line 50 é") {
		return fmt.Errorf("peek 5 printed %q", clip(a.out))
	}
	return nil
}

// longOutput is 200 lines, more than a screen.
const longOutput = `i=1; while [ $i -le 200 ]; do echo "line $i."; i=$((i + 1)); done; `

// long starts a program that shows 200 lines and stays, or ends.
func (r *run) long(end string) (*host, error) {
	h, err := r.tryStart(r.name(), config{"command": longOutput + end})
	if err != nil {
		return h, err
	}
	return h, r.eventually(func() error {
		a, err := r.does("peek", h.name, "", "0")
		if err == nil && !strings.Contains(a.out, "line 200.") {
			err = fmt.Errorf("peek 0 does not show the last line: %q", clip(a.out))
		}
		return err
	})
}

func peekScreen(r *run) error {
	if !r.has("peek-screen") {
		return skip("peek-screen is not declared")
	}
	h, err := r.long("exec sleep 1000")
	if err != nil {
		return err
	}
	a, err := r.does("peek", h.name, "", "screen")
	if err == nil && (!strings.Contains(a.out, "line 200.") || strings.Contains(a.out, "line 100.")) {
		err = fmt.Errorf("after 200 lines the screen is %q", clip(a.out))
	}
	return err
}

func lastScreen(r *run) error {
	if !r.has("last-screen") {
		return skip("last-screen is not declared")
	}
	h, err := r.tryStart(r.name(), config{"command": "echo the last word; exit 7"})
	if err != nil {
		return err
	}
	if err := h.ends(); err != nil {
		return err
	}
	a, err := r.does("peek", h.name, "", "0")
	if err == nil && !strings.Contains(a.out, "the last word") {
		err = fmt.Errorf("after the end peek printed %q", clip(a.out))
	}
	return err
}

func clears(r *run) error {
	h, err := r.long("exec sleep 1000")
	if err != nil {
		return err
	}
	if _, err := r.does("clear-scrollback", h.name, ""); err != nil {
		return err
	}
	a, err := r.does("peek", h.name, "", "0")
	if err == nil && (strings.Contains(a.out, "line 1.") || !strings.Contains(a.out, "line 200.")) {
		err = fmt.Errorf("after clear-scrollback peek printed %q", clip(a.out))
	}
	return err
}

func processes(r *run) error {
	h, err := r.start(config{"command": "sleep 1001 & " + program})
	if err != nil {
		return err
	}
	// The shell's child becomes sleep a moment later. The list may end without a newline.
	err = r.eventually(func() error { return r.prints("true", "process-alive", h.name, "no-such-program\nsleep") })
	if err != nil {
		return err
	}
	if err := r.prints("false", "process-alive", h.name, "no-such-program\n"); err != nil {
		return err
	}
	return r.prints("false", "process-alive", r.name(), "sleep\n")
}

// clockSlack is how inexact an activity may be: terminals record it rarely.
const clockSlack = 10 * time.Second

func activity(r *run) error {
	if err := r.prints("", "get-last-activity", r.name(), ""); err != nil {
		return err
	}
	begin := time.Now()
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	a, err := r.does("get-last-activity", h.name, "")
	if err != nil {
		return err
	}
	if a.text() == "" {
		if r.has("report-activity") {
			return errors.New("report-activity is declared, but nothing is printed")
		}
		return nil
	}
	at, err := time.Parse(time.RFC3339, a.text())
	switch {
	case err != nil:
		return fmt.Errorf("%q is not an RFC 3339 time", clip(a.out))
	case at.Before(begin.Add(-clockSlack)) || at.After(time.Now().Add(clockSlack)):
		return fmt.Errorf("%s is not the time of the program's output: %s", a.text(), begin.Format(time.RFC3339))
	}
	return nil
}

// shown is a terminal's output.
type shown struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *shown) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Contains(s.buf.Bytes(), []byte(text))
}

// silent is a terminal without input.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }

func attaches(r *run) error {
	if r.spoken && !r.has("tty.attach") {
		return skip("tty.attach is not declared")
	}
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	cmd := exec.Command(r.path, "attach", h.name)
	cmd.Env = append(r.env, "GC_CITY_PATH="+r.city, "GC_CITY="+r.city, "GC_EXEC_DETACH_KEYS=ctrl-b d", "TERM=xterm-256color")
	r.last = r.line([]string{"attach", h.name}, "")
	screen := &shown{}
	ended := make(chan error, 1)
	go func() {
		ended <- driver.RunOnTerminal(ctx, cmd, runtime.Terminal{
			In: silent{ctx}, Out: screen, Size: func() (int, int, error) { return 120, 40, nil }, Resized: make(chan struct{}),
		}, nil)
	}()
	err = r.eventually(func() error { return r.watch(h, screen, ended) })
	cancel()
	<-ended
	if err != nil {
		return err
	}
	if err := h.runs(); err != nil {
		return fmt.Errorf("after the terminal hung up: %w", err)
	}
	if r.has("report-attachment") {
		return r.eventually(func() error { return r.prints("false", "is-attached", h.name, "") })
	}
	return nil
}

// watch reads an attached terminal once.
func (r *run) watch(h *host, screen *shown, ended chan error) error {
	select {
	case err := <-ended:
		ended <- err // for later readers
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == notImplemented {
			return errMissing
		}
		return fmt.Errorf("attach ended at once: %v", err)
	default:
	}
	if !screen.has("ready") {
		return errors.New("the terminal does not show what the program wrote")
	}
	if r.has("report-attachment") {
		return r.prints("true", "is-attached", h.name, "")
	}
	return nil
}

func lastExit(r *run) error {
	if !r.has("last-exit") {
		return skip("last-exit is not declared")
	}
	h, err := r.tryStart(r.name(), config{"command": "exit 7"})
	if err != nil {
		return err
	}
	if err := h.ends(); err != nil {
		return err
	}
	a, err := r.does("last-exit", h.name, "")
	if err == nil && !strings.Contains(strings.ReplaceAll(a.out, " ", ""), `"code":7`) {
		err = fmt.Errorf("after exit 7: %v", a)
	}
	return err
}
