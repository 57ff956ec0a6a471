// Package event keeps an append-only sequence of events in memory and lets any
// number of subscribers follow it.
//
// Its invariant: a subscriber sees every event after its position, in order and
// once, or is told how many it missed and where it can resume. Appending never
// waits for a subscriber, and a subscriber costs no goroutine and no copy: it
// is a position in the shared ring. It serves the multiplexer's and the
// controller's event streams.
package event

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// DefaultKeep is the number of events kept when Options does not say.
const DefaultKeep = 10_000

// Errors of this package.
var (
	// ErrGone: the position is no longer kept, or is of another epoch (the
	// process that counted was restarted). HTTP says 410.
	ErrGone = errors.New("event position is gone")
	// ErrSlow: the subscriber fell behind and was dropped; see SlowError.
	ErrSlow = errors.New("subscriber is too slow")
	// ErrClosed: the log or the subscription was closed.
	ErrClosed = errors.New("event log is closed")
	// ErrPosition: a text that is no position.
	ErrPosition = errors.New("bad event position")
)

// Position is a place in a sequence: after the event Seq of the epoch. Seq 0
// is before the first event. The zero Position stands for "from now on".
type Position struct {
	Epoch string `json:"epoch"`
	Seq   uint64 `json:"seq"`
}

// String gives "EPOCH:SEQ", which ParsePosition reads; "" for the zero value.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return p.Epoch + ":" + strconv.FormatUint(p.Seq, 10)
}

// ParsePosition reads what String wrote; anything else is ErrPosition.
func ParsePosition(s string) (Position, error) {
	if s == "" {
		return Position{}, nil
	}
	epoch, seq, ok := strings.Cut(s, ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	if !ok || err != nil || epoch == "" {
		return Position{}, fmt.Errorf("%w: %.60q is not EPOCH:NUMBER", ErrPosition, s)
	}
	return Position{Epoch: epoch, Seq: n}, nil
}

// Options of a log; the zero value is right for most.
type Options struct {
	// Keep is the number of events kept, and so the number a subscriber may
	// fall behind before it is dropped; 0 = DefaultKeep.
	Keep int
}

// Log is the sequence; safe for concurrent use. Events are shared with every
// subscriber and must not be changed after Append.
type Log[T any] struct {
	epoch string
	keep  int

	mu     sync.Mutex
	ring   []T           // event n stands at (n-1) % keep; grows up to keep
	last   uint64        // number of the newest event
	wake   chan struct{} // closed at the next change; nil while nobody waits
	closed bool
}

// NewLog makes an empty log with an epoch of its own.
func NewLog[T any](o Options) *Log[T] {
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	return &Log[T]{epoch: strings.ToLower(rand.Text()), keep: o.Keep}
}

// Epoch identifies this sequence among all others.
func (l *Log[T]) Epoch() string { return l.epoch }

// Append adds an event and returns its number, counted from 1. After Close it
// does nothing and returns 0.
func (l *Log[T]) Append(v T) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0
	}
	if len(l.ring) < l.keep {
		l.ring = append(l.ring, v)
	} else {
		l.ring[l.last%uint64(l.keep)] = v
	}
	l.last++
	l.notify()
	return l.last
}

// Position is the place after the newest event: who subscribes there sees what
// comes next.
func (l *Log[T]) Position() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Position{l.epoch, l.last}
}

// Oldest is the earliest position that Subscribe takes.
func (l *Log[T]) Oldest() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Position{l.epoch, l.dropped()}
}

// Close ends the log: subscribers get the events that are left, then
// ErrClosed.
func (l *Log[T]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.notify()
}

// dropped counts the events that are no longer kept.
func (l *Log[T]) dropped() uint64 { return l.last - uint64(len(l.ring)) }

func (l *Log[T]) notify() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}
