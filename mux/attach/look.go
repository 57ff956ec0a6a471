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

// Questions are written to a person's terminal before the first paint, and again
// when its colours change: report changes of colours (mode 2031), foreground,
// background, DA1. Every terminal answers DA1, and in order, so its answer is
// the last. Nothing waits for the answers; the server gets each as it arrives.
const Questions = followColors + "\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b[c"

// followColors makes a terminal report changes of its colours.
const followColors = "\x1b[?2031h"

// fewQuestions are those of a terminal whose colours are the session's.
const fewQuestions = followColors + "\x1b[c"

// How long answers may take: those of a terminal that has not answered yet, and may never,
// and those of one that has. An attachment that ends earlier reads until then; otherwise
// they would become input of the shell. Tests shorten the first.
var (
	answerTime     = 2 * time.Second
	lateAnswerTime = 5 * time.Second
)

// hostLook is what is known about a person's terminal.
type hostLook struct {
	mu         sync.Mutex
	asked      time.Time // zero: never
	answered   bool      // the last answer came
	ever       bool      // an answer came, ever
	foreground string    // as OSC 10 has it
	background string
	pictures   pictures
	notices    []byte // to be written with the next questions
}

// maxNotices bounds the notices that wait; more are dropped.
const maxNotices = 16 << 10

// notice keeps a notice for the next questions.
func (l *hostLook) notice(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.notices)+len(b) <= maxNotices {
		l.notices = append(l.notices, b...)
	}
}

// ask sends the questions to a terminal that can answer.
func (l *hostLook) ask(t *hostTerminal) {
	if !t.answers() {
		return
	}
	questions := Questions
	if t.recolored() {
		questions = fewQuestions
	}
	l.mu.Lock()
	l.asked, l.answered = time.Now(), false
	text := append([]byte(questions), l.notices...)
	l.notices = nil
	l.mu.Unlock()
	_, _ = t.w.Write(text) // the next paint reports a terminal that is gone
}

// begin asks a terminal, before anything is painted, what it is set to, and the questions,
// and gives it the modes that a paint starts from.
func (l *hostLook) begin(t *hostTerminal) {
	if t.answers() {
		t.mu.Lock()
		t.written = true
		t.mu.Unlock()
		begin := vt.AppendModes([]byte(t.before.question() + l.pictures.question()))
		_, _ = t.w.Write(append(begin, askShape...)) // the first paint reports a terminal that is gone
	}
	l.ask(t)
}

// take notes an answer and reports whether the server should get it.
func (l *hostLook) take(reply []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ever = true
	if bytes.HasPrefix(reply, []byte("\x1b[?")) && bytes.HasSuffix(reply, []byte("c")) {
		l.answered = true
		return l.pictures.attributes(reply)
	}
	if l.pictures.take(reply) {
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

// open returns until when answers may come, and whether they are sure to; false if none is
// awaited.
func (l *hostLook) open() (until time.Time, sure, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until = l.asked.Add(answerTime)
	if l.ever {
		until = l.asked.Add(lateAnswerTime)
	}
	return until, l.ever, !l.asked.IsZero() && !l.answered && time.Now().Before(until)
}

// again notes that DA1 was asked again.
func (l *hostLook) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked, l.answered = time.Now(), false
}

// heard notes an answer to another question.
func (l *hostLook) heard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ever = true
}

// control returns the message for the server; false if nothing is known.
func (l *hostLook) control(t *hostTerminal) (api.AttachControl, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := api.AttachControl{Type: "terminal", Foreground: l.foreground, Background: l.background, Images: l.pictures.shown}
	m.CellWidth, m.CellHeight = t.cell()
	return m, m.Foreground != "" || m.Background != "" || m.CellWidth > 0 || len(m.Images) > 0
}

// images returns the images that the terminal shows, as far as it has answered.
func (l *hostLook) images() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pictures.shown
}

// cell returns the size of a cell in pixels; zero if unknown.
func (t *hostTerminal) cell() (width, height int) {
	if t.outTTY == nil {
		return 0, 0
	}
	err := withFD(t.outTTY, func(fd int) error {
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
	if a.screen.before.take(string(reply)) {
		a.look.heard()
		return
	}
	if bytes.HasPrefix(reply, []byte("\x1b[?997;")) {
		a.sender.changed.note()
	} else if a.look.take(reply) {
		a.sender.looked.note()
	}
}

// swallow reads the answers that are still to come, after the last key. If a person types
// meanwhile at a terminal that never answered, it waits no longer.
func (a *attachment) swallow(in inputSource) {
	replies := replyFilter{note: a.answer}
	if a.screen.endImages() {
		a.look.again() // its answer follows those to the images
	}
	for {
		until, sure, open := a.look.open()
		if !open {
			return
		}
		p, err := in.last(time.Until(until))
		if err != nil {
			return
		}
		if typed := replies.feed(p); len(typed) > 0 && !sure {
			return
		}
	}
}
