package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// ScreenBuffer is the host terminal of an attach: it records the output. Safe for
// concurrent use.
type ScreenBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *ScreenBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *ScreenBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// hasty is a terminal that types as soon as a text is shown.
type hasty struct {
	ScreenBuffer
	on, keys string
	to       io.Writer
	once     sync.Once
	written  chan error
}

func (h *hasty) Write(p []byte) (int, error) {
	n, err := h.ScreenBuffer.Write(p)
	if strings.Contains(h.String(), h.on) {
		h.once.Do(func() {
			go func() {
				_, werr := io.WriteString(h.to, h.keys)
				h.written <- werr
			}()
		})
	}
	return n, err
}

// person is an attached terminal.
type person struct {
	t    *T
	keys *io.PipeWriter
	out  *ScreenBuffer
	done chan error
	stop context.CancelFunc
}

// attach connects a person, who is detached at the end of the case.
func (t *T) attach(name string, readOnly bool) *person {
	t.Helper()
	in, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Ctx)
	p := &person{t: t, keys: w, out: &ScreenBuffer{}, done: make(chan error, 1), stop: cancel}
	go func() {
		p.done <- t.P.Attach(ctx, name, runtime.Terminal{
			In: in, Out: p.out, ReadOnly: readOnly,
			Size: func() (int, int, error) { return 120, 40, nil }, Resized: make(chan struct{}),
		})
		in.Close()
	}()
	t.Cleanup(func() { cancel(); w.Close() })
	return p
}

func (p *person) sees(text string) {
	p.t.Helper()
	p.t.eventually("the attached screen", func() error {
		if got := p.out.String(); !strings.Contains(got, text) {
			return fmt.Errorf("no %q in %q", text, tail(got))
		}
		return nil
	})
}

func (p *person) types(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, s); err != nil {
		p.t.Fatalf("type: %v", err)
	}
}

// leaves waits for the end of the attach.
func (p *person) leaves() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-p.t.Ctx.Done():
		p.t.Fatal("the attach does not end")
		return nil
	}
}

var attachCases = []testCase{
	{name: "attach shows the screen and passes keys", needs: []need{programs, attach, keys}, test: func(t *T) {
		name := t.sh("echo hello; exec cat")
		t.shows(name, "hello")
		p := t.attach(name, false)
		p.sees("hello")
		p.types("typed by hand\r")
		t.shows(name, "typed by hand")
		p.sees("typed by hand")
	}},
	{name: "the detach keys leave and the session goes on", needs: []need{programs, attach, keys}, test: func(t *T) {
		name := t.sh("echo hello; exec cat")
		p := t.attach(name, false)
		p.sees("hello")
		p.types("\x02d")
		t.must(p.leaves())
		t.running(name, true)
	}},
	{name: "the detach keys leave however fast they come", needs: []need{programs, attach, keys}, test: func(t *T) {
		name := t.sh("echo hello; exec cat")
		t.shows(name, "hello")
		for range 10 {
			in, w := io.Pipe()
			keys := &hasty{on: "hello", keys: "\x02d", to: w, written: make(chan error, 1)}
			err := t.P.Attach(t.Ctx, name, runtime.Terminal{
				In: in, Out: keys, Resized: make(chan struct{}), Size: func() (int, int, error) { return 120, 40, nil },
			})
			in.Close()
			t.must(err)
			t.must(t.Ctx.Err())
			t.must(<-keys.written)
		}
		if got := t.peek(name); strings.TrimSpace(got) != "hello" {
			t.Fatalf("the program got the keys: %q", got)
		}
	}},
	{name: "a session started beside attached terminals has its own size", needs: []need{programs, attach, attached, keys}, test: func(t *T) {
		name := t.idle()
		t.attach(name, false)
		t.eventually("a person attached", func() error { return t.isAttached(name, true) })
		dir := t.TempDir()
		t.start(runtime.Config{WorkDir: dir, Cols: 91, Rows: 17, Command: "stty size > size; exec cat"})
		if got := t.file(filepath.Join(dir, "size")); got != "17 91" {
			t.Fatalf("size %q", got)
		}
	}},
	{name: "ctrl-b twice sends one", needs: []need{programs, attach, keys}, test: func(t *T) {
		name := t.sh(rawCat)
		p := t.attach(name, false)
		p.sees("ready")
		p.types("\x02\x02.")
		t.shows(name, "ready^B.")
	}},
	{name: "attach ends with the session", needs: []need{attach}, test: func(t *T) {
		name := t.sh("echo hello; exec cat")
		p := t.attach(name, false)
		t.eventually("a person attached", func() error { return t.isAttached(name, true) })
		t.must(t.P.Stop(t.Ctx, name))
		t.must(p.leaves())
	}},
	{name: "attach ends with its context", needs: []need{attach}, test: func(t *T) {
		name := t.idle()
		p := t.attach(name, false)
		t.eventually("a person attached", func() error { return t.isAttached(name, true) })
		p.stop()
		if err := p.leaves(); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		t.running(name, true)
	}},
	{name: "attach to a missing session is ErrSessionNotFound", test: func(t *T) {
		err := t.P.Attach(t.Ctx, t.name(), runtime.Terminal{In: strings.NewReader(""), Out: io.Discard})
		if t.P.Capabilities().Attach && !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("attach: %v", err)
		}
	}},
	{name: "attached people are seen", needs: []need{attach, attached}, test: func(t *T) {
		name := t.idle()
		t.must(t.isAttached(name, false))
		p := t.attach(name, false)
		t.eventually("a person attached", func() error { return t.isAttached(name, true) })
		p.stop()
		t.eventually("nobody attached", func() error { return t.isAttached(name, false) })
	}},
	{name: "a missing session has no terminal attached", test: func(t *T) { t.must(t.isAttached(t.name(), false)) }},
	{name: "attach gives the terminal its modes back", needs: []need{programs, attach, keys}, test: func(t *T) {
		name := t.sh("echo hello; exec cat")
		t.shows(name, "hello")
		master, slave, err := driver.OpenPTY()
		t.must(err)
		defer slave.Close()
		defer master.Close()
		before, err := term.GetState(int(slave.Fd()))
		t.must(err)
		out := &ScreenBuffer{}
		go func() { _, _ = io.Copy(out, master) }() // ends when the pair is closed
		done := make(chan error, 1)
		go func() {
			done <- t.P.Attach(t.Ctx, name, runtime.Terminal{
				In: slave, Out: slave, Resized: make(chan struct{}),
				Size: func() (int, int, error) { return 120, 40, nil },
			})
		}()
		p := &person{t: t, out: out, done: done}
		p.sees("hello")
		during, err := term.GetState(int(slave.Fd()))
		t.must(err)
		if reflect.DeepEqual(before, during) {
			t.Error("the terminal is not raw while attached")
		}
		_, err = io.WriteString(master, "\x02d")
		t.must(err)
		t.must(p.leaves())
		after, err := term.GetState(int(slave.Fd()))
		t.must(err)
		if !reflect.DeepEqual(before, after) {
			t.Errorf("modes %+v became %+v", before, after)
		}
	}},
	{name: "a reader only looks", needs: []need{programs, attach, keys}, test: func(t *T) {
		name := t.sh("echo hello; exec cat")
		p := t.attach(name, true)
		p.sees("hello")
		p.types("typed by hand\r")
		t.nudge(name, "marker")
		p.sees("marker")
		if strings.Contains(t.peek(name), "typed by hand") {
			t.Fatal("a reader typed")
		}
	}},
}

func (t *T) isAttached(name string, want bool) error {
	if !t.P.Capabilities().AttachDetection {
		return nil
	}
	got, err := t.P.IsAttached(t.Ctx, name)
	if err == nil && got != want {
		err = fmt.Errorf("attached: %v", got)
	}
	return err
}

var pushCases = []testCase{
	{name: "an exit is pushed with its status", needs: []need{programs}, test: func(t *T) {
		src := extension[runtime.EventSource](t)
		events, err := src.Events(t.Ctx)
		t.must(err)
		name := t.sh("exit 6")
		extensionOf[runtime.EventSource](t, name)
		var kinds []string
		for e := range events {
			if e.Session != name {
				continue
			}
			kinds = append(kinds, e.Kind)
			if e.Kind == runtime.EventExited {
				if e.Exit == nil || e.Exit.Code != 6 {
					t.Fatalf("%+v", e.Exit)
				}
				break
			}
		}
		if strings.Join(kinds, " ") != "started exited" {
			t.Fatalf("events %q", kinds)
		}
	}},
	{name: "events end with their context", test: func(t *T) {
		src := extension[runtime.EventSource](t)
		ctx, cancel := context.WithCancel(t.Ctx)
		events, err := src.Events(ctx)
		t.must(err)
		cancel()
		for {
			select {
			case _, open := <-events:
				if !open {
					return
				}
			case <-t.Ctx.Done():
				t.Fatal("the channel stays open")
			}
		}
	}},
	{name: "the last exit is reported", needs: []need{programs}, test: func(t *T) {
		name := t.idle()
		rep := extensionOf[runtime.ExitReporter](t, name)
		if e, err := rep.LastExit(t.Ctx, name); e != nil || err != nil {
			t.Fatalf("running: %+v, %v", e, err)
		}
		rep = extension[runtime.ExitReporter](t)
		viaHost := t.P.Capabilities().Prompts // the session's program is another one, with the agent's status
		killed, coded := t.sh("kill -KILL $$"), t.sh("exit 42")
		for name, want := range map[string]runtime.Exit{killed: {Code: 137, Signal: "SIGKILL"}, coded: {Code: 42}} {
			t.ends(name)
			e, err := rep.LastExit(t.Ctx, name)
			if err != nil || e == nil || e.Code != want.Code || e.Signal != want.Signal && !viaHost || e.Time.IsZero() {
				t.Fatalf("%+v, %v; want %+v", e, err, want)
			}
		}
		if _, err := rep.LastExit(t.Ctx, "never-was"); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("missing: %v", err)
		}
	}},
	{name: "a wait returns when its text appears", needs: []need{programs}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "mkfifo gate; read x < gate; echo answer 42; exec cat"})
		w := extensionOf[runtime.Waiter](t, name)
		t.eventually("the pipe", func() error { return statFifo(dir) })
		done := make(chan error, 1)
		go func() {
			i, err := w.WaitFor(t.Ctx, name, []runtime.Condition{{Exit: true}, {Text: `answer \d+`}})
			if err == nil && i != 1 {
				err = fmt.Errorf("condition %d", i)
			}
			done <- err
		}()
		t.must(writeFifo(t.Ctx, filepath.Join(dir, "gate")))
		t.must(<-done)
	}},
	{name: "a wait ends with the session and with its context", needs: []need{programs}, test: func(t *T) {
		name := t.idle()
		w := extensionOf[runtime.Waiter](t, name)
		ctx, cancel := context.WithTimeout(t.Ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := w.WaitFor(ctx, name, []runtime.Condition{{Text: "never"}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("timeout: %v", err)
		}
		short := t.sh("exit 0")
		w = extensionOf[runtime.Waiter](t, short)
		if _, err := w.WaitFor(t.Ctx, short, []runtime.Condition{{Text: "never"}}); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("end: %v", err)
		}
		if i, err := w.WaitFor(t.Ctx, short, []runtime.Condition{{Text: "never"}, {Exit: true}}); i != 1 || err != nil {
			t.Errorf("exit: %d, %v", i, err)
		}
	}},
}
