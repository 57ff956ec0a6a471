package link

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity.dev/gc/mux/many"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]net.Conn{}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return ends[0], ends[1]
}

// machine is another machine whose stream can be cut, and can refuse to open.
type machine struct {
	t       *testing.T
	opened  atomic.Int32
	refuses atomic.Pointer[error]
	mu      sync.Mutex
	last    net.Conn
}

func (m *machine) open(context.Context) (io.ReadWriteCloser, error) {
	m.opened.Add(1)
	if err := m.refuses.Load(); err != nil {
		return nil, *err
	}
	near, far := pair(m.t)
	m.mu.Lock()
	m.last = far
	m.mu.Unlock()
	go func() {
		_ = many.Serve(context.Background(), far, many.Hello{Version: "there"}, func(_ context.Context, _ many.Request, c net.Conn) {
			_ = many.Accept(c)
			_, _ = io.Copy(c, c)
		})
	}()
	return near, nil
}

func (m *machine) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last.Close()
}

// newLink returns a link whose delays are recorded and end when the test says so.
func newLink(t *testing.T, open Opener) (*Link, chan time.Duration) {
	t.Helper()
	l := New("ssh://far", open, many.Hello{Version: "here"})
	slept := make(chan time.Duration)
	l.sleep = func(ctx context.Context, d time.Duration) error {
		select {
		case slept <- d:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t.Cleanup(func() { l.Close() })
	return l, slept
}

func says(t *testing.T, l *Link) error {
	t.Helper()
	c, err := l.Dial(t.Context(), "echo", nil)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

// until receives states until one is as wanted.
func until(t *testing.T, changes <-chan State, is string) State {
	t.Helper()
	for s := range changes {
		if s.Is == is {
			return s
		}
	}
	t.Fatal("no changes any more")
	return State{}
}

func TestLinkComesBack(t *testing.T) {
	m := &machine{t: t}
	l, slept := newLink(t, m.open)
	changes := l.Changes(t.Context())
	if s := until(t, changes, Idle); m.opened.Load() != 0 || s.Err != nil {
		t.Errorf("opened before its use: %+v", s)
	}
	for range 5 {
		if err := says(t, l); err != nil {
			t.Fatal(err)
		}
	}
	if s := until(t, changes, Up); m.opened.Load() != 1 || s.Peer.Version != "there" {
		t.Errorf("opened %d times, %+v", m.opened.Load(), s)
	}
	c, err := l.Dial(t.Context(), "echo", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m.cut()
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
	lost := until(t, changes, Away)
	if lost.Err == nil || lost.Peer.Version != "there" {
		t.Errorf("%+v", lost)
	}
	if err := says(t, l); !errors.Is(err, ErrAway) || !strings.Contains(err.Error(), "not connected: ") {
		t.Errorf("%v", err)
	}
	no := errors.New("ssh://far: no route")
	m.refuses.Store(&no)
	<-slept
	for l.State().Err != no { // its attempt
		until(t, changes, Away)
	}
	if s := l.State(); !s.Since.Equal(lost.Since) {
		t.Errorf("away since %v, then since %v", lost.Since, s.Since)
	}
	if err := says(t, l); !errors.Is(err, no) || err.Error() != "not connected: no route" {
		t.Errorf("%v", err)
	}
	m.refuses.Store(nil)
	<-slept
	until(t, changes, Up)
	if err := says(t, l); err != nil {
		t.Error(err)
	}
}

func TestDelaysGrow(t *testing.T) {
	no := errors.New("no route")
	m := &machine{t: t}
	m.refuses.Store(&no)
	l, slept := newLink(t, m.open)
	if err := says(t, l); !errors.Is(err, no) {
		t.Error(err)
	}
	for i, limit := 0, firstDelay; i < 20; i++ {
		if d := <-slept; d < limit/2 || d > limit {
			t.Errorf("%d: %v, want %v to %v", i, d, limit/2, limit)
		}
		limit = min(lastDelay, 2*limit)
	}
}

// Again ends the pause of a link that is away, and starts its delays over.
func TestAgain(t *testing.T) {
	no := errors.New("no route")
	m := &machine{t: t}
	m.refuses.Store(&no)
	l, _ := newLink(t, m.open)
	pauses := make(chan time.Duration)
	l.sleep = func(ctx context.Context, d time.Duration) error {
		if m.opened.Load() < 5 {
			return nil
		}
		select {
		case pauses <- d:
			<-ctx.Done()
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	l.Again() // it was not used yet
	if err := says(t, l); !errors.Is(err, no) {
		t.Error(err)
	}
	if d := <-pauses; d < firstDelay<<4/2 {
		t.Errorf("after five failures: %v", d)
	}
	l.Again()
	if d := <-pauses; m.opened.Load() != 6 || d > firstDelay {
		t.Errorf("%d attempts, and then a pause of %v", m.opened.Load(), d)
	}
	m.refuses.Store(nil)
	changes := l.Changes(t.Context())
	l.Again()
	until(t, changes, Up)
	l.Again()
	if err := says(t, l); err != nil {
		t.Errorf("Again cut a stream: %v", err)
	}
}

// Again gives up an attempt that hangs.
func TestAgainWhileItHangs(t *testing.T) {
	m := &machine{t: t}
	var attempts atomic.Int32
	hangs := make(chan struct{}, 1)
	l, slept := newLink(t, func(ctx context.Context) (io.ReadWriteCloser, error) {
		switch attempts.Add(1) {
		case 1:
			return nil, errors.New("no route")
		case 2:
			hangs <- struct{}{}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return m.open(ctx)
	})
	changes := l.Changes(t.Context())
	_ = says(t, l)
	<-slept
	<-hangs
	l.Again()
	until(t, changes, Up)
	if n := attempts.Load(); n != 3 {
		t.Errorf("%d attempts", n)
	}
}

// A stream that carried an answer starts the delays over, however soon it is cut; even the
// shortest delay is one.
func TestShortStreamsAreForgiven(t *testing.T) {
	m := &machine{t: t}
	l, slept := newLink(t, m.open)
	changes := l.Changes(t.Context())
	for i := range 20 {
		if i == 0 {
			if err := says(t, l); err != nil {
				t.Fatal(err)
			}
		}
		for s := range changes {
			if s.Is == Up && s.RTT > 0 {
				break
			}
		}
		m.cut()
		if d := <-slept; d < firstDelay/2 || d > firstDelay {
			t.Errorf("cut %d: %v, want %v to %v", i, d, firstDelay/2, firstDelay)
		}
	}
}

// A machine that greets and ends before its first answer is tried less and less often.
func TestGreetingAloneIsNoAnswer(t *testing.T) {
	l, slept := newLink(t, func(context.Context) (io.ReadWriteCloser, error) {
		near, far := pair(t)
		go func() {
			defer far.Close()
			_, _ = io.WriteString(far, "gc-many/1 {}\n")
			_, _ = far.Read(make([]byte, 1))
		}()
		return near, nil
	})
	_ = says(t, l)
	for i, limit := 0, firstDelay; i < 10; i++ {
		if d := <-slept; d < limit/2 || d > limit {
			t.Errorf("%d: %v, want %v to %v", i, d, limit/2, limit)
		}
		limit = min(lastDelay, 2*limit)
	}
}

// A machine that neither answers nor refuses holds no caller beyond its context.
func TestCallersAreNotHeld(t *testing.T) {
	l, _ := newLink(t, func(ctx context.Context) (io.ReadWriteCloser, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := l.Dial(ctx, "echo", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	l.Close()
	if err := says(t, l); !errors.Is(err, ErrAway) || !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

func TestClosedBeforeItsUse(t *testing.T) {
	m := &machine{t: t}
	l, _ := newLink(t, func(ctx context.Context) (io.ReadWriteCloser, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return m.open(ctx)
	})
	l.Close()
	l.Close()
	if err := says(t, l); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}
