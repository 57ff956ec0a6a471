//go:build unix

package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

// attachDemo attaches a person to the fake session and shows them a first
// screen.
func attachDemo(t *testing.T, change func(*Options)) (*fakeServer, *fakeConn, *persontest.Person, *attachRun) {
	t.Helper()
	s, p := newFakeServer(t), persontest.New(t)
	r := attachPerson(p, s.client(), "demo", change)
	c := s.next()
	c.paint("first screen")
	p.Sees("first screen")
	return s, c, p, r
}

func TestAttachShowsAndTypes(t *testing.T) {
	_, c, p, r := attachDemo(t, nil)
	if c.path != "demo" || c.query.Get("cols") != "80" || c.query.Get("rows") != "24" || c.query.Has("readonly") {
		t.Errorf("attached to %s with %v", c.path, c.query)
	}
	p.Types("ls\r\x03\x1b[A\x04\x1a")
	if got := c.input(9); got != "ls\r\x03\x1b[A\x04\x1a" {
		t.Errorf("the session got %q", got)
	}
	// A terminal's replies are not keys; a lone Escape is one, after a moment.
	p.Types("\x1b[?64;1c\x1b]11;rgb:0/0/0\x07a\x1b")
	if got := c.input(2); got != "a\x1b" {
		t.Errorf("the session got %q", got)
	}
	c.control(map[string]any{"type": "news", "of": []string{"later servers"}})
	c.control("nonsense")
	c.control(api.AttachControl{Type: "offset", Offset: 99})
	big := strings.Repeat("0123456789abcdef", 1<<16) + "end of it"
	c.raw(big)
	p.Sees("end of it")
	if !strings.Contains(p.All(), big) {
		t.Error("the output is not what was sent")
	}
	p.Types("\x02d")
	r.want(Detached)
	p.CheckRestored()
	if got := c.rest(); got != "" {
		t.Errorf("the session got %q with the detach keys", got)
	}
}

// TestAttachLongControlMessage: a control message over the limit is skipped; the
// connection stays.
func TestAttachLongControlMessage(t *testing.T) {
	_, c, p, r := attachDemo(t, nil)
	c.control(map[string]string{"type": "news", "text": strings.Repeat("long ", 64<<10)})
	c.raw("after it")
	p.Sees("after it")
	p.Types("\x02d")
	r.want(Detached)
}

func TestAttachDetachKeys(t *testing.T) {
	for name, keys := range map[string]string{
		"legacy": "\x02d", "kitty": "\x1b[98;5u\x1b[98;5:3ud", "modifyOtherKeys": "\x1b[27;5;98~d",
		"kitty with everything": "\x1b[57442;5u\x1b[98:66;5:1u\x1b[98;5:3u\x1b[57442;1:3u\x1b[100;;100u",
	} {
		t.Run(name, func(t *testing.T) {
			_, c, p, r := attachDemo(t, nil)
			p.Forget()
			p.Types("exit\r" + keys + "typed ahead")
			res := r.want(Detached)
			if got := c.rest(); got != "exit\r" && !strings.Contains(keys, "57442") {
				t.Errorf("the session got %q", got)
			}
			if string(res.Rest) != "typed ahead" {
				t.Errorf("behind the keys: %q", res.Rest)
			}
			p.CheckRestored()
			p.Sees(string(vt.AppendReset(nil)))
			// Input after the end belongs to the next program.
			p.Types("next\n")
			buf := make([]byte, 64)
			n, err := p.Tty.Read(buf)
			if err != nil || string(buf[:n]) != "next\n" {
				t.Errorf("the next reader gets %q, %v", buf[:n], err)
			}
		})
	}
}

func TestAttachOtherDetachKeys(t *testing.T) {
	keys, err := keys.ParseDetach("ctrl-q")
	if err != nil {
		t.Fatal(err)
	}
	_, c, p, r := attachDemo(t, func(o *Options) { o.DetachKeys = keys })
	p.Types("\x02d")
	if got := c.input(2); got != "\x02d" {
		t.Errorf("the session got %q", got)
	}
	p.Types("\x11")
	r.want(Detached)
}

func TestAttachExit(t *testing.T) {
	_, c, p, r := attachDemo(t, nil)
	c.raw("bye")
	c.control(api.AttachControl{Type: "exit", Exit: &api.Exit{Code: 3, Reason: api.ReasonExited}})
	c.end(websocket.StatusNormalClosure)
	if res := r.want(Exited); res.Exit == nil || res.Exit.Code != 3 {
		t.Errorf("exit %+v", res.Exit)
	}
	p.Sees("bye")
	p.CheckRestored()
}

func TestAttachKicked(t *testing.T) {
	_, c, p, r := attachDemo(t, nil)
	c.end(api.StatusKicked)
	r.want(Kicked)
	p.CheckRestored()
}

func TestAttachNoSession(t *testing.T) {
	s, p := newFakeServer(t), persontest.New(t)
	s.fail(api.ErrNotFound)
	r := attachPerson(p, s.client(), "gone", nil)
	if _, err := r.ended(); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	p.CheckRestored()
	if p.All() != "" {
		t.Errorf("written: %q", p.All())
	}
}

func TestAttachReconnects(t *testing.T) {
	s, c, p, r := attachDemo(t, nil)
	s.stop()
	c.drop()
	p.Types("while away")
	s.listen()
	c = s.next()
	if c.path != "id-1" {
		t.Errorf("connected again to %s", c.path)
	}
	p.Forget()
	c.paint("second screen")
	p.Sees("second screen")
	if got := c.input(10); got != "while away" {
		t.Errorf("the session got %q", got)
	}
	p.Types("\x02d")
	r.want(Detached)
	p.CheckRestored()
}

// TestAttachResetsBeforeRepaint: the lost connection may have ended in the
// middle of a sequence, and with modes that the new paint does not mention.
func TestAttachResetsBeforeRepaint(t *testing.T) {
	s, c, p, r := attachDemo(t, nil)
	c.raw("half\x1b[3")
	p.Sees("half")
	s.stop()
	c.drop()
	s.listen()
	s.next().paint("second screen")
	p.Sees("second screen")
	_, after, _ := strings.Cut(p.All(), "half")
	if reset := string(vt.AppendReset(nil)); !strings.HasPrefix(after, "\x1b[3"+reset+"second") {
		t.Errorf("came: %q", after)
	}
	p.Types("\x02d")
	r.want(Detached) // otherwise it may reconnect once more while the test ends
}

// TestAttachTellsThatItWaits: a person is told that the server does not answer; what they
// type meanwhile arrives once, and the terminal is painted anew.
func TestAttachTellsThatItWaits(t *testing.T) {
	s, c, p, r := attachDemo(t, nil)
	s.stop()
	c.drop()
	p.Sees("no answer from the multiplexer, waiting; keys are kept; ctrl-b d detaches")
	p.Types("x")
	s.listen()
	c = s.next()
	if c.query.Has("offset") {
		t.Errorf("it continues below the notice: %v", c.query)
	}
	c.paint("second screen")
	p.Sees("second screen")
	if got := c.input(1); got != "x" {
		t.Errorf("the session got %q", got)
	}
	p.Types("\x02d")
	r.want(Detached)
	p.CheckRestored()
}

// TestAttachTellsOfAStall: so is one whose keys another machine does not answer.
func TestAttachTellsOfAStall(t *testing.T) {
	s, c, p, r := attachDemo(t, func(o *Options) { o.Where = "ssh://far" })
	p.Types("x")
	p.Sees("no answer from ssh://far, waiting")
	if got := c.input(1); got != "x" { // it reads again, and answers the ping
		t.Errorf("the session got %q", got)
	}
	go c.rest()
	c = s.next()
	if c.query.Has("offset") {
		t.Errorf("it continues below the notice: %v", c.query)
	}
	c.paint("second screen")
	p.Sees("second screen")
	p.Types("\x02d")
	r.want(Detached)
	p.CheckRestored()
}

func TestAttachLost(t *testing.T) {
	for name, wait := range map[string]time.Duration{"not waited for": -1, "does not come back": 30 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			s, c, p, r := attachDemo(t, func(o *Options) { o.Reconnect = wait })
			s.stop()
			c.drop()
			res, err := r.ended()
			if res.Reason != Lost || !errors.Is(err, ErrLost) {
				t.Errorf("ended %q, %v", res.Reason, err)
			}
			p.CheckRestored()
		})
	}
}

// TestAttachExitWhileAway: the program ended while the server was gone.
func TestAttachExitWhileAway(t *testing.T) {
	s, c, p, r := attachDemo(t, nil)
	s.set(func(i *api.SessionInfo) { i.State, i.Exit = api.StateExited, &api.Exit{Code: 130, Signal: "SIGINT"} })
	s.fail(api.ErrExited)
	c.drop()
	if res := r.want(Exited); res.Exit == nil || res.Exit.Code != 130 {
		t.Errorf("exit %+v", res.Exit)
	}
	p.CheckRestored()
}

func TestAttachDetachWhileAway(t *testing.T) {
	s, c, p, r := attachDemo(t, nil)
	s.stop()
	c.drop()
	p.Types("\x02d")
	r.want(Detached)
	p.CheckRestored()
}

// TestAttachHungServer: the server neither reads nor writes.
func TestAttachHungServer(t *testing.T) {
	_, _, p, r := attachDemo(t, nil)
	p.Types("some keys")
	p.Types("\x02d")
	r.want(Detached)
	p.CheckRestored()
}

func TestAttachResize(t *testing.T) {
	_, c, p, r := attachDemo(t, func(o *Options) { o.Resized = nil })
	p.Resize(100, 30)
	persontest.SignalSelf(t, unix.SIGWINCH)
	if m := c.resize(); m.Cols != 100 || m.Rows != 30 {
		t.Errorf("size %+v", m)
	}
	p.Types("\x02d")
	r.want(Detached)
}

// TestAttachTypedAfterResize: input follows the size at which it was typed, even if
// SIGWINCH is late.
func TestAttachTypedAfterResize(t *testing.T) {
	_, c, p, r := attachDemo(t, func(o *Options) { o.Resized = make(chan struct{}) }) // never
	p.Resize(100, 30)
	p.Types("x")
	if m := c.resize(); m.Cols != 100 || m.Rows != 30 {
		t.Errorf("size %+v", m)
	}
	if got := c.input(1); got != "x" {
		t.Errorf("the session got %q", got)
	}
	p.Types("\x02d")
	r.want(Detached)
}

func TestAttachResizedByOwner(t *testing.T) {
	resized := make(chan struct{})
	cols := 90
	_, c, p, r := attachDemo(t, func(o *Options) {
		o.Resized = resized
		o.Size = func() (int, int, error) { return cols, 1 << 20, nil }
	})
	if c.query.Get("cols") != "90" || c.query.Get("rows") != "2000" {
		t.Errorf("attached with %v", c.query)
	}
	cols = 91
	resized <- struct{}{}
	if m := c.resize(); m.Cols != 91 {
		t.Errorf("size %+v", m)
	}
	close(resized)
	p.Types("x")
	if got := c.input(1); got != "x" {
		t.Errorf("the session got %q", got)
	}
	p.Types("\x02d")
	r.want(Detached)
}

func TestAttachReadOnly(t *testing.T) {
	_, c, p, r := attachDemo(t, func(o *Options) { o.ReadOnly, o.Scrollback = true, true })
	if c.query.Get("readonly") != "true" || c.query.Get("scrollback") != "true" {
		t.Errorf("attached with %v", c.query)
	}
	p.Types("rm -rf\r\x03\x02\x02\x02x\x02d")
	r.want(Detached)
	if got := c.rest(); got != "" {
		t.Errorf("the session got %q", got)
	}
	p.CheckRestored()
}

func TestAttachSignals(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		_, c, p, r := attachDemo(t, nil)
		persontest.SignalSelf(t, s)
		res, err := r.ended()
		var se *SignalError
		if !errors.As(err, &se) || se.Signal != s || res.Reason != Detached {
			t.Errorf("%v: ended %q, %v", s, res.Reason, err)
		}
		c.rest()
		p.CheckRestored()
		p.Sees("\x1b[?1049l")
	}
}

// signalsArrived waits until this process has received what it sent to itself: the runtime
// passes the signals of smaller numbers on first.
func signalsArrived(t *testing.T) {
	last := make(chan os.Signal, 1)
	signal.Notify(last, unix.SIGWINCH)
	defer signal.Stop(last)
	persontest.SignalSelf(t, unix.SIGWINCH)
	<-last
}

// TestAttachSignalBeforeAnswer: a signal ends the wait for a server that hangs; the
// terminal is unchanged.
func TestAttachSignalBeforeAnswer(t *testing.T) {
	// A signal before or after the attachment must not end this process, nor the next test's.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM)
	defer signalsArrived(t)
	near, far := net.Pipe()
	defer far.Close()
	go io.Copy(io.Discard, far)
	p := persontest.New(t)
	r := attachPerson(p, client.NewClient(func(context.Context) (net.Conn, error) { return near, nil }), "demo", nil)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case <-r.done:
			waiting = false
		case <-tick.C:
			persontest.SignalSelf(t, unix.SIGTERM)
		}
	}
	res, err := r.ended()
	var se *SignalError
	if !errors.As(err, &se) || se.Signal != unix.SIGTERM || res.Reason != Detached {
		t.Errorf("ended %q, %v", res.Reason, err)
	}
	p.CheckRestored()
	if got := p.All(); got != "" {
		t.Errorf("the terminal got %q", got)
	}
}

// TestAttachContinued: the process was stopped, and a shell used the terminal.
func TestAttachContinued(t *testing.T) {
	s, first, p, r := attachDemo(t, func(o *Options) { o.Resized = nil })
	p.Resize(100, 30)
	persontest.SignalSelf(t, unix.SIGWINCH)
	first.resize() // so it follows signals, and does not look up what it missed
	if err := persontest.RestoreState(p); err != nil {
		t.Fatal(err)
	}
	persontest.SignalSelf(t, unix.SIGCONT)
	c := s.next()
	if *p.State() == *p.Before {
		t.Error("the terminal is not in raw mode again")
	}
	c.paint("second screen")
	p.Sees("second screen")
	p.Types("\x02d")
	r.want(Detached)
	p.CheckRestored()
}

func TestAttachContext(t *testing.T) {
	_, c, p, r := attachDemo(t, nil)
	r.cancel()
	if res, err := r.ended(); res.Reason != Detached || err == nil {
		t.Errorf("ended %q, %v", res.Reason, err)
	}
	c.rest()
	p.CheckRestored()
}

func TestAttachPanic(t *testing.T) {
	resized := make(chan struct{}, 1)
	broken := false
	_, _, p, r := attachDemo(t, func(o *Options) {
		o.Resized = resized
		o.Size = func() (int, int, error) {
			if broken {
				panic("size of what")
			}
			return 80, 24, nil
		}
	})
	broken = true
	resized <- struct{}{}
	if r.ended(); r.panic == nil || !strings.Contains(fmt.Sprint(r.panic), "size of what") {
		t.Errorf("panic %v", r.panic)
	}
	p.CheckRestored()
	p.Sees("\x1b[?1049l")
}

func TestAttachTerminalGone(t *testing.T) {
	_, c, p, r := attachDemo(t, nil)
	p.Host.Close()
	if res, err := r.ended(); res.Reason != Lost || err == nil {
		t.Errorf("ended %q, %v", res.Reason, err)
	}
	c.rest()
}

// TestAttachStoppedTerminal: a stopped terminal delays neither the end nor the
// restoring of its modes.
func TestAttachStoppedTerminal(t *testing.T) {
	s, p := newFakeServer(t), persontest.Open(t)
	r := attachPerson(p, s.client(), "demo", nil)
	c := s.next()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		ctx, cancel := c.context()
		defer cancel()
		// The write fails, as the client leaves in the middle.
		c.ws.Write(ctx, websocket.MessageBinary, bytes.Repeat([]byte("much more than a terminal holds "), 1<<14))
	}()
	if _, err := io.ReadFull(p.Host, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	r.cancel()
	r.ended()
	if took := time.Since(start); took > 5*restoreTimeout {
		t.Errorf("the end took %v", took)
	}
	p.CheckRestored()
	<-sent
}

func TestAttachWriteError(t *testing.T) {
	s, p := newFakeServer(t), persontest.New(t)
	r := attachPerson(p, s.client(), "demo", func(o *Options) { o.Out = failingWriter{} })
	s.next().paint("screen")
	if res, err := r.ended(); res.Reason != Lost || !errors.Is(err, os.ErrClosed) {
		t.Errorf("ended %q, %v", res.Reason, err)
	}
	p.CheckRestored()
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestAttachStreams: streams that are not terminals.
func TestAttachStreams(t *testing.T) {
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	defer pw.Close()
	local, far := net.Pipe()
	defer local.Close()
	defer far.Close()
	plainR, plainW := io.Pipe()
	defer plainW.Close()
	for name, in := range map[string]struct {
		r io.Reader
		w io.WriteCloser
	}{"pipe": {pr, pw}, "connection": {local, far}, "reader": {plainR, plainW}} {
		t.Run(name, func(t *testing.T) {
			s := newFakeServer(t)
			shown := make(shownWriter, 8)
			r := attachWith(t, s.client(), "demo", Options{In: in.r, Out: shown})
			c := s.next()
			if c.query.Get("cols") != "0" {
				t.Errorf("attached with %v", c.query)
			}
			c.paint("screen")
			if got := <-shown; got != "screen" {
				t.Errorf("shown: %q", got)
			}
			in.w.Write([]byte("ls\r"))
			if got := c.input(3); got != "ls\r" {
				t.Errorf("the session got %q", got)
			}
			in.w.Close()
			r.want(Detached)
			c.rest()
		})
	}
}

// shownWriter sends everything written to it.
type shownWriter chan string

func (w shownWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// TestAttachReaderIsLeftAlone: the input is not read after the end.
func TestAttachReaderIsLeftAlone(t *testing.T) {
	local, far := net.Pipe()
	defer local.Close()
	defer far.Close()
	s := newFakeServer(t)
	r := attachWith(t, s.client(), "demo", Options{In: local})
	c := s.next()
	c.control(api.AttachControl{Type: "exit", Exit: &api.Exit{}})
	c.end(websocket.StatusNormalClosure)
	r.want(Exited)
	go far.Write([]byte("next"))
	buf := make([]byte, 8)
	if n, err := local.Read(buf); err != nil || string(buf[:n]) != "next" {
		t.Errorf("the next reader gets %q, %v", buf[:n], err)
	}
}

func TestAttachWithoutInput(t *testing.T) {
	s := newFakeServer(t)
	r := attachWith(t, s.client(), "demo", Options{ReadOnly: true})
	c := s.next()
	c.paint("screen")
	c.control(api.AttachControl{Type: "exit", Exit: &api.Exit{}})
	c.end(websocket.StatusNormalClosure)
	r.want(Exited)
}
