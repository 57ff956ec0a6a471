// Package link holds one byte stream to another machine, and makes it again when it is
// lost.
//
// A [Link] opens the stream on first use and keeps it for all who dial over it; it does not
// know what opens the stream (ssh, a pod's exec) nor what the connections carry. While the
// stream is not there, every Dial fails at once with [ErrAway] and the reason: nobody
// waits for a machine that is away, and nothing is known about it. The controller holds one
// for each host, and cmd/gc/internal/backend makes them.
package link

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/many"
)

// Opener opens a byte stream to the far side of many. Closing it ends a blocked Read.
type Opener func(ctx context.Context) (io.ReadWriteCloser, error)

// Times of a link.
const (
	firstDelay = 200 * time.Millisecond // before the first attempt after a loss; doubled by each that fails
	lastDelay  = 30 * time.Second
	firstWait  = 10 * time.Second // of a Dial, for the first attempt ever
	openLimit  = 30 * time.Second // of one attempt
	pingEvery  = 30 * time.Second
	pingLimit  = 15 * time.Second
)

// Where a link is.
const (
	Idle = "idle" // not used yet, or its first attempt is not over
	Up   = "up"
	Away = "away"
)

// State describes a link.
type State struct {
	Is    string // Idle, Up or Away
	Since time.Time
	Err   error         // why it is away
	Peer  many.Hello    // of the last stream
	RTT   time.Duration // of the last ping; 0 before it
}

// ErrAway matches the error of a Dial while the machine is away.
var ErrAway = errors.New("away")

// AwayError is why a machine is away.
type AwayError struct {
	Since time.Time
	Err   error
	text  string
}

// Error is the reason.
func (e *AwayError) Error() string { return "not connected: " + e.text }

// Unwrap returns ErrAway and the reason.
func (e *AwayError) Unwrap() []error { return []error{ErrAway, e.Err} }

// Link is one held stream. It is safe for concurrent use.
type Link struct {
	name string
	open Opener
	mine many.Hello

	sleep func(ctx context.Context, d time.Duration) error
	start sync.Once
	life  context.Context
	end   context.CancelFunc
	ended sync.WaitGroup

	mu      sync.Mutex
	state   State
	session *many.Session           // while Up
	again   context.CancelFunc      // ends the attempt and the pause under way
	tried   chan struct{}           // closed when the first attempt is over
	watch   map[chan State]struct{} // each with room for the newest state
}

// New returns a link that is not opened yet; the name is for errors.
func New(name string, open Opener, mine many.Hello) *Link {
	l := &Link{
		name: name, open: open, mine: mine, sleep: clock.Sleep,
		state: State{Is: Idle, Since: time.Now()},
		tried: make(chan struct{}), watch: map[chan State]struct{}{},
	}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// String is the name of the link.
func (l *Link) String() string { return l.name }

// Dial opens a connection over the stream, as many.Session.Dial. While the machine is away
// it fails at once; the first Dial waits at most 10 s for the stream. ErrAway.
func (l *Link) Dial(ctx context.Context, kind string, args any) (net.Conn, error) {
	l.start.Do(func() { l.ended.Go(l.run) })
	first := time.NewTimer(firstWait)
	defer first.Stop()
	select {
	case <-l.tried:
	case <-first.C:
		return nil, l.away(errors.New("the first connection takes long"))
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	session, reason := l.session, l.state.Err
	l.mu.Unlock()
	if session == nil {
		return nil, l.away(reason)
	}
	conn, err := session.Dial(ctx, kind, args)
	if ended := session.Err(); err != nil && ended != nil {
		return nil, l.away(ended)
	}
	return conn, err
}

// away is the error for a reason.
func (l *Link) away(reason error) error {
	return &AwayError{Since: l.State().Since, Err: reason, text: strings.TrimPrefix(reason.Error(), l.name+": ")}
}

// State describes the link now.
func (l *Link) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Changes returns a channel with the current state, and the newest after each change. It
// is closed when ctx ends. It does not open the stream.
func (l *Link) Changes(ctx context.Context) <-chan State {
	c := make(chan State, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	c <- l.state
	l.watch[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watch, c)
		close(c)
	})
	return c
}

// errClosed is why a closed link is away.
var errClosed = errors.New("closed")

// Close ends the stream and its connections; the link is away for ever.
func (l *Link) Close() error {
	l.start.Do(func() { l.ended.Go(l.run) }) // so that a later Dial fails
	l.end()
	l.ended.Wait()
	return nil
}

// Again makes a link that is away try at once, and starts its delays over: what kept the
// machine away may be over. It does not open a link that was never used.
func (l *Link) Again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Is == Away {
		l.again()
	}
}

// run opens the stream, again and again, until the link is closed. A stream that carried
// an answer starts the delays over, however soon it was lost.
func (l *Link) run() {
	for failures := 0; ; {
		round := l.round()
		s, err := l.connect(round)
		if err == nil {
			var answered bool
			if answered, err = l.hold(s); answered {
				failures = 0
			}
		} else if round.Err() != nil && l.life.Err() == nil {
			failures = 0
			continue
		}
		if l.life.Err() != nil {
			err = errClosed
		}
		l.set(nil, State{Is: Away, Since: time.Now(), Err: err})
		if failures++; l.life.Err() == nil && l.sleep(round, delay(failures-1)) != nil {
			failures = 0
		}
		if l.life.Err() != nil {
			l.set(nil, State{Is: Away, Since: time.Now(), Err: errClosed})
			return
		}
	}
}

// round begins an attempt with its pause, which Again ends.
func (l *Link) round() context.Context {
	ctx, cancel := context.WithCancel(l.life)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again != nil {
		l.again()
	}
	l.again = cancel
	return ctx
}

// delay is how long to wait after so many failures in a row: half of it is random, so
// that many links that were lost at once do not return at once.
func delay(failures int) time.Duration {
	d := lastDelay
	if failures < 8 {
		d = min(d, firstDelay<<failures)
	}
	return d/2 + rand.N(d/2)
}

// connect opens and greets.
func (l *Link) connect(ctx context.Context) (*many.Session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, openLimit, errors.New("connecting took longer than "+openLimit.String()))
	defer cancel()
	rw, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	return many.Open(ctx, rw, l.mine, many.Options{})
}

// hold publishes the stream until it ends, and returns why, and whether the machine
// answered over it.
func (l *Link) hold(s *many.Session) (answered bool, _ error) {
	defer s.Close()
	l.set(s, State{Is: Up, Since: time.Now(), Peer: s.Peer()})
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		ctx, cancel := context.WithTimeout(l.life, pingLimit)
		rtt, err := s.Ping(ctx)
		cancel()
		if err == nil {
			answered = true
			l.measured(rtt)
		}
		select {
		case <-s.Done():
			return answered, s.Err()
		case <-l.life.Done():
			return answered, errClosed
		case <-tick.C:
		}
	}
}

// set publishes a state. A link that stays away keeps the time when it went.
func (l *Link) set(s *many.Session, to State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to.Is == Away {
		to.Peer = l.state.Peer
		if l.state.Is == Away {
			to.Since = l.state.Since
		}
	}
	l.session, l.state = s, to
	l.publish()
	select {
	case <-l.tried:
	default:
		close(l.tried)
	}
}

func (l *Link) measured(rtt time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.RTT = rtt
	l.publish()
}

// publish replaces the state that a watcher has not taken yet. The lock is held.
func (l *Link) publish() {
	for c := range l.watch {
		select {
		case <-c:
		default:
		}
		c <- l.state
	}
}

// Forward serves the near side of rw with connections of the link, until rw or ctx ends;
// it owns rw. So one who holds a link shares it with other processes.
func (l *Link) Forward(ctx context.Context, rw io.ReadWriteCloser, mine many.Hello) error {
	all, cut := context.WithCancel(ctx)
	defer cut()
	return many.Serve(all, rw, mine, func(ctx context.Context, r many.Request, near net.Conn) {
		far, err := l.Dial(ctx, r.Kind, r.Args)
		if err != nil {
			_ = many.Refuse(near, CodeAway, err.Error())
			return
		}
		defer far.Close()
		stop := context.AfterFunc(ctx, func() { far.Close() })
		defer stop()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if _, err := io.Copy(far, near); err == nil {
				closeWrite(far)
			}
		}()
		if answer(near, far) {
			near.Close()
		} else if ctx.Err() == nil { // only the end of the stream is not taken for the end of the data
			cut()
			<-ctx.Done()
		}
		far.Close()
		<-ended
	})
}

// CodeAway is the code of a refusal by Forward while the machine is away.
const CodeAway = "unreachable"

// answer passes on what the far side sends, first whether it serves the connection. It
// reports false if the far side was lost before its end.
func answer(near, far net.Conn) bool {
	b := make([]byte, 16<<10)
	for accepted := false; ; {
		n, err := far.Read(b)
		if refused := new(many.Refused); errors.As(err, &refused) {
			_ = many.Refuse(near, refused.Code, refused.Text)
			return true
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false
		}
		if !accepted {
			accepted = true
			if many.Accept(near) != nil {
				return true
			}
		}
		if _, werr := near.Write(b[:n]); werr != nil || err != nil {
			return true
		}
	}
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
