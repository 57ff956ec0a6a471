package wire

import (
	"io"
	"sync"
)

// outgoing is a line to be written.
type outgoing struct {
	line []byte // with its end
	call int64  // of a call
}

// queue holds messages until the agent reads them.
type queue struct {
	w      io.WriteCloser
	max    int
	record func(fromAgent bool, line []byte)
	shut   sync.Once // closes w

	mu      sync.Mutex
	changed sync.Cond
	lines   []outgoing // the first is being written
	bytes   int        // of lines
	written int64      // the last call written
	ended   bool       // refuses further messages
	err     error      // returned by add after the end
}

func newQueue(w io.WriteCloser, max int, record func(bool, []byte)) *queue {
	q := &queue{w: w, max: max, record: record}
	q.changed.L = &q.mu
	return q
}

func (q *queue) add(o outgoing) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return q.err
	}
	if q.bytes+len(o.line) > q.max {
		return ErrFull
	}
	q.lines = append(q.lines, o)
	q.bytes += len(o.line)
	q.changed.Signal()
	return nil
}

// write writes until the queue is finished and empty, aborted, or the agent's input
// fails. Then it closes that.
func (q *queue) write() {
	defer q.shut.Do(func() { q.w.Close() })
	for {
		o, ok := q.first()
		if !ok {
			return
		}
		if q.record != nil {
			q.record(false, o.line[:len(o.line)-1])
		}
		if _, err := q.w.Write(o.line); err != nil {
			q.end(err, true)
			return
		}
		q.pop(o)
	}
}

// first waits for a line; false at the end.
func (q *queue) first() (outgoing, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.lines) == 0 {
		if q.ended {
			return outgoing{}, false
		}
		q.changed.Wait()
	}
	return q.lines[0], true
}

func (q *queue) pop(o outgoing) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if o.call != 0 {
		q.written = o.call
	}
	if len(q.lines) == 0 {
		return // aborted
	}
	q.lines[0] = outgoing{}
	q.lines = q.lines[1:]
	q.bytes -= len(o.line)
}

// end refuses further messages; drop also removes the queued ones.
func (q *queue) end(err error, drop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended, q.err = true, err
	}
	if drop {
		q.lines, q.bytes = nil, 0
	}
	q.changed.Signal()
}

func (q *queue) finish() { q.end(ErrClosed, false) }

// abort ends a write that blocks.
func (q *queue) abort() {
	q.end(ErrClosed, true)
	q.shut.Do(func() { q.w.Close() })
}

func (q *queue) waiting() (messages, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines), q.bytes
}

func (q *queue) wrote(call int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return call <= q.written
}
