// Package event keeps the newest events of a sequence in memory and lets any
// number of subscribers follow it.
//
// Its invariant: a subscription delivers every event after its position, in
// order and once. When the next event is no longer kept, Subscribe fails with
// ErrGone, and Next ends with a SlowError that counts the missed events and
// says where to resume. Appending never waits for a subscriber, and a
// subscriber costs no goroutine and no copy: it is a position in the shared
// ring. It serves the multiplexer's event stream; a city's events are numbered
// on disk by internal/session.
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
	// ErrGone: the position is no longer kept, or belongs to another epoch (the
	// process that counted was restarted). HTTP status 410.
	ErrGone = errors.New("event position is gone")
	// ErrSlow: the subscriber fell behind and was dropped; see SlowError.
	ErrSlow = errors.New("subscriber is too slow")
	// ErrClosed: the log or the subscription was closed.
	ErrClosed = errors.New("event log is closed")
	// ErrPosition: the text is not a position.
	ErrPosition = errors.New("bad event position")
)

// Position is a place in a sequence: just after event Seq of the epoch. Seq 0
// is before the first event. The zero Position means "from now on".
type Position struct {
	Epoch string `json:"epoch"`
	Seq   uint64 `json:"seq"`
}

// String returns "EPOCH:SEQ", which ParsePosition reads; "" for the zero value.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return p.Epoch + ":" + strconv.FormatUint(p.Seq, 10)
}

// ParsePosition is the inverse of String; its errors are ErrPosition.
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

// Options configure a log; the zero value is right for most.
type Options struct {
	// Keep is the number of events kept, and so how far a subscriber may fall
	// behind before it is dropped; 0 = DefaultKeep.
	Keep int
}

// Log is the sequence; it is safe for concurrent use. Subscribers share the
// events, which must not be changed after Append.
type Log[T any] struct {
	epoch string
	keep  int

	mu     sync.Mutex
	ring   []T           // event n is at (n-1) % keep; grows up to keep
	last   uint64        // number of the newest event
	wake   chan struct{} // closed at the next change; nil without a waiter
	closed bool
}

// NewLog returns an empty log with a new epoch.
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

// Position is the place after the newest event: a subscription from there
// starts with the next one.
func (l *Log[T]) Position() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Position{l.epoch, l.last}
}

// Oldest is the earliest position that Subscribe accepts.
func (l *Log[T]) Oldest() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Position{l.epoch, l.dropped()}
}

// Close ends the log: subscribers receive the remaining events, then
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
