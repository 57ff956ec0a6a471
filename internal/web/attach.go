package web

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/coder/websocket"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/web/access"
)

// A terminal's bytes are binary messages, in both directions: its channel in
// four bytes, big-endian, then the bytes. The page acknowledges what xterm.js
// has processed; a page that is further behind gets nothing more, and the
// multiplexer paints it anew when it has caught up.
const (
	window      = 256 << 10
	chunk       = 32 << 10
	inputChunks = 256
)

// terminal is one attached terminal of a page.
type terminal struct {
	n      uint32
	term   fleet.Terminal
	take   bool
	input  chan []byte
	cancel context.CancelFunc

	mu      sync.Mutex
	unacked int
	acked   chan struct{} // gets a value after an ack
}

type endMessage struct {
	Op  string `json:"op"`
	N   uint32 `json:"n"`
	Why string `json:"why,omitempty"`
	// Code is that of a failure to attach.
	Code string `json:"code,omitempty"`
}

// attach begins a terminal on the channel m.N.
func (l *live) attach(m message) {
	l.mu.Lock()
	_, used := l.terminals[m.N]
	full := len(l.terminals) >= maxTerminals
	ctx, cancel := context.WithCancel(l.ctx)
	t := &terminal{n: m.N, take: m.Take, input: make(chan []byte, inputChunks), cancel: cancel, acked: make(chan struct{}, 1)}
	if !used && !full {
		l.terminals[m.N] = t
	}
	l.mu.Unlock()
	if used || full {
		cancel()
		l.work.Go(func() { l.send(endMessage{"end", m.N, "too many terminals", "busy"}) })
		return
	}
	l.work.Go(func() {
		defer cancel()
		err := l.carry(ctx, t, m)
		l.mu.Lock()
		delete(l.terminals, m.N)
		l.mu.Unlock()
		end := endMessage{Op: "end", N: m.N}
		if err != nil {
			end.Why, end.Code = err.Error(), code(err)
		}
		l.send(end)
	})
}

// carry copies both directions until the terminal ends.
func (l *live) carry(ctx context.Context, t *terminal, m message) error {
	if t.take && l.session.ReadOnly {
		return access.ErrReadOnly
	}
	term, err := l.server.Fleet.Attach(ctx, m.ID, fleet.AttachOptions{Cols: m.Cols, Rows: m.Rows, ReadOnly: !t.take})
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.term = term
	t.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { term.Close() })
	defer stop()
	defer term.Close()
	l.work.Go(func() { t.write(ctx) })
	buf := make([]byte, 4+chunk)
	binary.BigEndian.PutUint32(buf, t.n)
	for {
		n, err := term.Read(buf[4:])
		if n > 0 {
			if !t.mayShow(ctx, n) || l.write(websocket.MessageBinary, buf[:4+n]) != nil {
				return nil
			}
		}
		if err != nil {
			return nil // the end, or detached
		}
	}
}

// mayShow waits until the page is at most a window behind, and counts n bytes.
func (t *terminal) mayShow(ctx context.Context, n int) bool {
	for {
		t.mu.Lock()
		ok := t.unacked < window
		if ok {
			t.unacked += n
		}
		t.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-t.acked:
		case <-ctx.Done():
			return false
		}
	}
}

// write types what the page sent. It may wait for the program, so it does not
// hold up the page's other messages.
func (t *terminal) write(ctx context.Context) {
	for {
		select {
		case data := <-t.input:
			if _, err := t.term.Write(data); err != nil {
				t.cancel()
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// typed takes a binary message of the page. What is typed without control is
// ignored; a program that reads nothing for long loses its terminal.
func (l *live) typed(data []byte) {
	if len(data) < 4 {
		return
	}
	t := l.terminal(binary.BigEndian.Uint32(data))
	if t == nil || !t.take || l.session.ReadOnly {
		return
	}
	select {
	case t.input <- data[4:]:
	default:
		t.cancel()
	}
}

func (l *live) terminal(n uint32) *terminal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.terminals[n]
}

// control handles resize, ack and close.
func (l *live) control(m message) {
	t := l.terminal(m.N)
	if t == nil {
		return
	}
	switch m.Op {
	case "close":
		t.cancel()
	case "ack":
		t.mu.Lock()
		t.unacked = max(0, t.unacked-max(0, m.Bytes))
		t.mu.Unlock()
		select {
		case t.acked <- struct{}{}:
		default:
		}
	case "resize":
		t.mu.Lock()
		term := t.term
		t.mu.Unlock()
		if term != nil {
			term.Resize(m.Cols, m.Rows) // an error ends its reads
		}
	}
}

func (l *live) closeTerminals() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.terminals {
		t.cancel()
	}
}
