package many

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Sizes: the read buffer, which only headers go through (yamux reads data around it), and
// how much may wait to be sent before writers of connections wait.
const (
	readBuffer = 4 << 10
	sendLimit  = 256 << 10
)

// lastRead is how long Read may go on after a write failed.
const lastRead = time.Second

// link is the byte stream as yamux uses it. Its Write never blocks, so that yamux always
// answers pings and windows and closes at once; the connections wait in their own
// Write until there is space, which has a deadline.
type link struct {
	rw       io.ReadWriteCloser
	r        *bufio.Reader
	received atomic.Uint64 // bytes

	mu      sync.Mutex
	err     error         // the first failure
	queue   []byte        // not yet passed to rw
	sending int           // bytes that are being written to rw
	more    chan struct{} // capacity 1: the queue is not empty, or the link failed
	space   chan struct{} // closed once there is space again; nil if there is
}

func newLink(rw io.ReadWriteCloser, r *bufio.Reader) *link {
	l := &link{rw: rw, r: r, more: make(chan struct{}, 1)}
	go l.send()
	return l
}

// Read notes that the peer is alive, and why the stream ended.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.received.Add(uint64(n))
	if err != nil {
		l.fail(err)
	}
	return n, err
}

// Write queues p.
func (l *link) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	l.queue = append(l.queue, p...)
	if l.space == nil && len(l.queue)+l.sending > sendLimit {
		l.space = make(chan struct{})
	}
	l.wake()
	return len(p), nil
}

func (l *link) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// full returns nil if there is space, else a channel that is closed once there is.
func (l *link) full() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.space
}

// send writes the queue to rw until the link or a write fails.
func (l *link) send() {
	var batch []byte
	for range l.more {
		l.mu.Lock()
		if l.err != nil {
			l.mu.Unlock()
			return
		}
		batch, l.queue = l.queue, batch[:0]
		l.sending = len(batch)
		l.mu.Unlock()
		_, err := l.rw.Write(batch)
		if cap(batch) > 2*sendLimit {
			batch = nil
		}
		l.mu.Lock()
		l.sending = 0
		if l.space != nil && len(l.queue) <= sendLimit {
			close(l.space)
			l.space = nil
		}
		l.mu.Unlock()
		if err != nil { // Read delivers what came before, and says why the stream ended
			time.AfterFunc(lastRead, func() {
				l.fail(err)
				l.rw.Close()
			})
			return
		}
	}
}

// fail records the first failure.
func (l *link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	l.wake()
}

// cause is the first failure; nil if yamux found the peer at fault.
func (l *link) cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// errClosed is the failure of a link that this side closed.
var errClosed = errors.New("closed on this side")

// Close ends a blocked Read.
func (l *link) Close() error {
	l.fail(errClosed)
	return l.rw.Close()
}
