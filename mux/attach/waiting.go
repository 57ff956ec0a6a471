package attach

import (
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/mux/client"
)

// A person is told that the server does not answer: noticeAfter a connection was lost,
// or, on another machine, when nothing came for quietTime after a key, and no answer to
// a ping for pongTime after that.
const (
	noticeAfter = time.Second
	quietTime   = time.Second
	pongTime    = time.Second
)

// where is who does not answer.
func (a *attachment) where() string {
	if a.o.Where != "" {
		return a.o.Where
	}
	return "the multiplexer"
}

// tell shows on the last line that the server does not answer. The next connection
// repaints the terminal.
func (a *attachment) tell() {
	leave := ""
	if !a.o.detachKeys().None() {
		leave = "; " + a.o.detachKeys().String() + " detaches"
	}
	a.link.spoil()
	text := "gc: no answer from " + a.where() + ", waiting; keys are kept" + leave
	a.screen.notice(text)
	a.over.say(text)
}

// watchAnswers tells the person when a machine does not answer, and repaints the
// terminal when it does.
func (a *attachment) watchAnswers(ctx context.Context, conn *client.AttachConn) {
	for {
		select {
		case <-a.sender.sent:
		case <-ctx.Done():
			return
		}
		seen := a.viewer.received.Load()
		if !pass(ctx, quietTime) {
			return
		}
		if a.viewer.received.Load() != seen {
			continue
		}
		late := time.AfterFunc(pongTime, a.tell)
		err := conn.Ping(ctx)
		if err == nil && !late.Stop() {
			a.link.drop()
		}
		if late.Stop(); err != nil {
			return
		}
	}
}

// pass waits; false if ctx ended first.
func pass(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// notice shows a line at the bottom of a terminal, over what is there. A paint must
// follow, or restore, which erases it.
func (t *hostTerminal) notice(text string) {
	cols, rows := t.size()
	if t.outTTY == nil || rows == 0 {
		return
	}
	text = text[:min(len(text), cols-1)]
	t.out.Lock()
	defer t.out.Unlock()
	if t.cover == covered {
		return
	}
	t.noticed = true
	// CAN and ST end a sequence that the last output may have begun.
	fmt.Fprintf(t.w, "\x18\x1b\\\x1b7\x1b[?6l\x1b[%d;1H\x1b[0;7m%s\x1b[0m\x1b[K\x1b8", rows, text)
}
