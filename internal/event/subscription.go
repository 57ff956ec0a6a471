package event

import (
	"context"
	"fmt"
	"sync"
)

// SlowError ends a subscription whose next event is no longer kept; it is an
// ErrSlow.
type SlowError struct {
	// Resume is the position to subscribe at again: just before the oldest
	// event kept at that moment.
	Resume Position
	// Missed counts the undelivered events before Resume.
	Missed uint64
}

func (e *SlowError) Error() string {
	return fmt.Sprintf("%v: resume after %v, %d events missed", ErrSlow, e.Resume, e.Missed)
}

// Is makes errors.Is(err, ErrSlow) true.
func (e *SlowError) Is(target error) bool { return target == ErrSlow }

// Item is an event and its number.
type Item[T any] struct {
	Seq   uint64
	Value T
}

// Subscription follows a log. Next is for one goroutine at a time; Close may
// come from any.
type Subscription[T any] struct {
	log *Log[T]

	mu     sync.Mutex
	at     uint64 // number of the last delivered event
	err    error  // why it ended
	closed chan struct{}
}

// Subscribe follows the log from a position. It returns ErrGone if the position
// is too old, belongs to another epoch or lies in the future, and ErrClosed
// after Close.
func (l *Log[T]) Subscribe(after Position) (*Subscription[T], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	at := after.Seq
	switch {
	case after == (Position{}):
		at = l.last
	case after.Epoch != l.epoch:
		return nil, fmt.Errorf("%w: %v belongs to another epoch than %s", ErrGone, after, l.epoch)
	case at < l.dropped() || at > l.last:
		return nil, fmt.Errorf("%w: %v, kept are %d to %d", ErrGone, after, l.dropped(), l.last)
	}
	return &Subscription[T]{log: l, at: at, closed: make(chan struct{})}, nil
}

// Next waits for the next event. It returns the context's error, after which it
// may be called again; a SlowError when the subscriber fell too far behind; or
// ErrClosed when the subscription was closed, or the log was and everything was
// delivered.
func (s *Subscription[T]) Next(ctx context.Context) (Item[T], error) {
	for {
		item, wake, err := s.step()
		if err != nil || wake == nil {
			return item, err
		}
		select {
		case <-wake:
		case <-s.closed:
		case <-ctx.Done():
			return Item[T]{}, ctx.Err()
		}
	}
}

// Position is the place after the last delivered event: where a new
// subscription would continue.
func (s *Subscription[T]) Position() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Position{s.log.epoch, s.at}
}

// Close ends the subscription and wakes Next. It is idempotent.
func (s *Subscription[T]) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	s.err = ErrClosed
}

// step returns the next event, or the channel that is closed when there may be
// one.
func (s *Subscription[T]) step() (item Item[T], wake <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return item, nil, s.err
	}
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	switch dropped := l.dropped(); {
	case s.at < dropped:
		s.err = &SlowError{Resume: Position{l.epoch, dropped}, Missed: dropped - s.at}
		return item, nil, s.err
	case s.at < l.last:
		s.at++
		return Item[T]{Seq: s.at, Value: l.ring[(s.at-1)%uint64(l.keep)]}, nil, nil
	case l.closed:
		s.err = ErrClosed
		return item, nil, s.err
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return item, l.wake, nil
}
