//go:build unix

package attach

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// What a person's terminal looks like is asked once, behind the first paint, and
// told to the server whenever an answer comes: nothing waits for it. DA1 is
// asked last, since every terminal answers it, and in order. When its colours
// change (mode 2031) the server says where in the output they are asked again.
const Questions = "\x1b[?2031h\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b[c"

// outerPatience is how long answers may take; a terminal that is given back
// earlier is read until then, so that they do not become keys of a shell.
const outerPatience = 300 * time.Millisecond

// outerLook is what is known of a person's terminal.
type outerLook struct {
	mu         sync.Mutex
	asked      time.Time // zero: nobody was asked
	answered   bool      // the last answer came
	foreground string    // as OSC 10 has it
	background string
}

// ask sends the questions to a terminal that can answer.
func (l *outerLook) ask(t *outerTerminal) {
	if t.in == nil || t.out == nil {
		return
	}
	l.mu.Lock()
	l.asked, l.answered = time.Now(), false
	l.mu.Unlock()
	_, _ = t.w.Write([]byte(Questions)) // a terminal that is gone is noticed with the first paint
}

// take notes an answer; it reports whether there is something new to tell.
func (l *outerLook) take(reply []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.HasPrefix(reply, []byte("\x1b[?")) && bytes.HasSuffix(reply, []byte("c")) {
		l.answered = true
		return false
	}
	text := strings.TrimRight(string(reply), "\x1b\\\a")
	if f, ok := strings.CutPrefix(text, "\x1b]10;"); ok && isColor(f) {
		l.foreground = f
		return true
	}
	if b, ok := strings.CutPrefix(text, "\x1b]11;"); ok && isColor(b) {
		l.background = b
		return true
	}
	return false
}

func isColor(s string) bool { _, ok := vt.ParseColor(s); return ok }

// open reports until when answers may still come; false when none is awaited.
func (l *outerLook) open() (until time.Time, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until = l.asked.Add(outerPatience)
	return until, !l.asked.IsZero() && !l.answered && time.Now().Before(until)
}

// control is what the server is told; false when nothing is known.
func (l *outerLook) control(t *outerTerminal) (api.AttachControl, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := api.AttachControl{Type: "terminal", Foreground: l.foreground, Background: l.background}
	m.CellWidth, m.CellHeight = t.cell()
	return m, m.Foreground != "" || m.Background != "" || m.CellWidth > 0
}

// cell is the size of a cell in pixels, zero when the terminal does not say.
func (t *outerTerminal) cell() (width, height int) {
	if t.out == nil {
		return 0, 0
	}
	err := withFD(t.out, func(fd int) error {
		ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err == nil && ws.Col > 0 && ws.Row > 0 {
			width, height = int(ws.Xpixel)/int(ws.Col), int(ws.Ypixel)/int(ws.Row)
		}
		return err
	})
	if err != nil || width <= 0 || height <= 0 {
		return 0, 0
	}
	return width, height
}

// answer takes a reply of the person's terminal.
func (a *attachment) answer(reply []byte) {
	if bytes.HasPrefix(reply, []byte("\x1b[?997;")) {
		select {
		case a.changed <- struct{}{}:
		default:
		}
		return
	}
	if !a.look.take(reply) {
		return
	}
	select {
	case a.looked <- struct{}{}:
	default:
	}
}

// swallow reads the answers that are still on their way, after the last key was
// read.
func (a *attachment) swallow(in inputSource) {
	replies := replyFilter{note: a.answer}
	for {
		until, open := a.look.open()
		if !open {
			return
		}
		p, err := in.last(time.Until(until))
		if err != nil {
			return
		}
		replies.feed(p)
	}
}
