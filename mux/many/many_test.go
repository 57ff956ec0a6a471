package many

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	nearHello = Hello{Version: "1", OS: "linux", Arch: "amd64"}
	farHello  = Hello{Version: "2", Features: []string{"mux"}, OS: "linux", Arch: "arm64"}
)

// pair returns the two ends of a socket, whose buffers are the kernel's.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]net.Conn{}
	for i, fd := range fds {
		syscall.CloseOnExec(fd)
		f := os.NewFile(uintptr(fd), "pair")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return ends[0], ends[1]
}

// echo sends every connection of kind echo back; others are refused.
func echo(_ context.Context, r Request, conn net.Conn) {
	if r.Kind != "echo" {
		_ = Refuse(conn, "kind", "unknown kind "+r.Kind)
		return
	}
	_ = Accept(conn)
	_, _ = io.Copy(conn, conn)
}

// open serves handle on the far side of rw and opens the near side.
func open(t *testing.T, near, far io.ReadWriteCloser, handle func(context.Context, Request, net.Conn)) (*Session, <-chan error) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), far, farHello, handle) }()
	s, err := Open(t.Context(), near, nearHello, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, served
}

func dial(t *testing.T, s *Session, kind string, args any) net.Conn {
	t.Helper()
	c, err := s.Dial(t.Context(), kind, args)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func closeWrite(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
}

func TestManyCallsBesideEachOther(t *testing.T) {
	near, far := pair(t)
	s, served := open(t, near, far, echo)
	if p := s.Peer(); p.Version != "2" || !p.Has("mux") || p.Has("x") || p.Arch != "arm64" {
		t.Errorf("%+v", p)
	}
	if _, err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	var calls sync.WaitGroup
	for i := range 300 {
		calls.Go(func() {
			data := bytes.Repeat([]byte(fmt.Sprint(i, " ")), 1+i*i)
			c, err := s.Dial(t.Context(), "echo", nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			go func() {
				if _, err := c.Write(data); err != nil {
					t.Error(err)
				}
				closeWrite(t, c)
			}()
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d: %d of %d bytes, %v", i, len(got), len(data), err)
			}
		})
	}
	calls.Wait()
	s.Close()
	if err := <-served; err != nil {
		t.Errorf("served: %v", err)
	}
	if err := s.Err(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("ended: %v", err)
	}
}

func TestOneThatDoesNotReadBlocksNobody(t *testing.T) {
	near, far := pair(t)
	s, _ := open(t, near, far, func(ctx context.Context, r Request, conn net.Conn) {
		_ = Accept(conn)
		switch r.Kind {
		case "flood": // never ends by itself
			_, _ = io.Copy(conn, endless{})
		case "deaf":
			<-ctx.Done()
		default:
			_, _ = io.Copy(conn, conn)
		}
	})
	flood, deaf := dial(t, s, "flood", nil), dial(t, s, "deaf", nil)
	defer flood.Close()
	_ = deaf.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := io.Copy(deaf, endless{}); !errors.Is(err, os.ErrDeadlineExceeded) || n > 1<<20 {
		t.Errorf("wrote %d, %v", n, err)
	}
	c := dial(t, s, "echo", nil)
	defer c.Close()
	b := make([]byte, 5)
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A closed connection ends the handler and its writes; one closed for one direction
// does not.
func TestCloseReachesTheHandler(t *testing.T) {
	near, far := pair(t)
	ended := make(chan string, 2)
	s, _ := open(t, near, far, func(ctx context.Context, r Request, conn net.Conn) {
		_ = Accept(conn)
		switch r.Kind {
		case "write":
			_, err := io.Copy(conn, endless{})
			ended <- fmt.Sprint(errors.Is(err, syscall.EPIPE), context.Cause(ctx))
		case "late":
			_, err := io.Copy(io.Discard, conn)
			if err != nil || ctx.Err() != nil {
				t.Errorf("half: %v, %v", err, ctx.Err())
			}
			_, _ = conn.Write([]byte("answer"))
			<-ctx.Done()
			ended <- "late"
		}
	})
	c := dial(t, s, "write", nil)
	if _, err := io.ReadFull(c, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if got := <-ended; got != "true the other side closed the connection" {
		t.Error(got)
	}
	if _, err := c.Read(nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	c = dial(t, s, "late", nil)
	closeWrite(t, c)
	if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("write after CloseWrite: %v", err)
	}
	b := make([]byte, 6)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "answer" {
		t.Errorf("%q, %v", b, err)
	}
	c.Close()
	<-ended
}

// The far side's Close ends the writes of the near side, which still reads what came
// before.
func TestTheFarSideCloses(t *testing.T) {
	near, far := pair(t)
	s, _ := open(t, near, far, func(_ context.Context, r Request, conn net.Conn) {
		_ = Accept(conn)
		_, _ = conn.Write([]byte("bye"))
	})
	c := dial(t, s, "x", nil)
	defer c.Close()
	if n, err := io.Copy(c, endless{}); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("wrote %d, %v", n, err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "bye" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	near, far := pair(t)
	s, _ := open(t, near, far, echo)
	for _, do := range []func(c net.Conn) error{
		func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		func(c net.Conn) error { _, err := io.Copy(c, endless{}); return err },
	} {
		c := dial(t, s, "other", map[string]string{"a": "b"})
		var refused *Refused
		if err := do(c); !errors.As(err, &refused) || refused.Code != "kind" || err.Error() != "unknown kind other" {
			t.Errorf("%v", err)
		}
		c.Close()
	}
}

func TestArgsAndDeadlines(t *testing.T) {
	near, far := pair(t)
	s, _ := open(t, near, far, func(ctx context.Context, r Request, conn net.Conn) {
		if string(r.Args) != `{"big":"`+strings.Repeat("x", 100_000)+`"}` {
			t.Errorf("%.100s", r.Args)
		}
		<-ctx.Done()
	})
	c := dial(t, s, "x", map[string]string{"big": strings.Repeat("x", 100_000)})
	defer c.Close()
	for range 2 { // also before the answer came
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	}
	ended := make(chan error)
	_ = c.SetDeadline(time.Time{})
	go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
	c.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// cut ends a stream after some bytes were read from it.
type cut struct {
	net.Conn
	mu   sync.Mutex
	left int
}

func (c *cut) Read(p []byte) (int, error) {
	c.mu.Lock()
	left := c.left
	c.mu.Unlock()
	if left <= 0 {
		c.Conn.Close()
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p[:min(len(p), left)])
	c.mu.Lock()
	c.left -= n
	c.mu.Unlock()
	return n, err
}

// Wherever a link is cut, every call returns an error, never the end of the data.
func TestCutAnywhere(t *testing.T) {
	for range 60 {
		near, far := pair(t)
		at := rand.IntN(200_000)
		go func() { _ = Serve(t.Context(), far, farHello, echo) }()
		s, err := Open(t.Context(), &cut{Conn: near, left: 200 + at}, nearHello, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for range 8 {
			c, err := s.Dial(t.Context(), "echo", nil)
			if err != nil {
				continue
			}
			calls.Go(func() {
				if _, err := io.Copy(c, endless{}); err == nil || errors.Is(err, net.ErrClosed) {
					t.Errorf("write: %v", err)
				}
			})
			calls.Go(func() {
				if n, err := io.Copy(io.Discard, c); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("read %d: %v", n, err)
				}
			})
		}
		calls.Wait()
		<-s.Done()
		if err := s.Err(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", at, err)
		}
		if _, err := s.Dial(t.Context(), "echo", nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("dial: %v", err)
		}
		if _, err := s.Ping(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("ping: %v", err)
		}
		s.Close()
	}
}

// stalling is a stream that can stop delivering without being cut.
type stalling struct {
	net.Conn
	stalled chan struct{} // closed: what comes is thrown away
}

func (s *stalling) Read(p []byte) (int, error) {
	for {
		n, err := s.Conn.Read(p)
		select {
		case <-s.stalled:
			if err == nil {
				continue
			}
		default:
		}
		return n, err
	}
}

func TestStalledLinkIsFound(t *testing.T) {
	near, far := pair(t)
	link := &stalling{Conn: near, stalled: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), far, farHello, echo) }()
	s, err := Open(t.Context(), link, nearHello, Options{PingEvery: time.Millisecond, PingTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	dial(t, s, "echo", nil)
	for s.link.received.Load() < 100*12 { // a quiet link is kept: this many bytes are pings
		if s.Err() != nil {
			t.Fatalf("a quiet link ended: %v", s.Err())
		}
		time.Sleep(time.Millisecond)
	}
	s.Close()

	near, far = pair(t)
	link = &stalling{Conn: near, stalled: make(chan struct{})}
	go func() { _ = Serve(t.Context(), far, farHello, echo) }()
	if s, err = Open(t.Context(), link, nearHello, Options{PingEvery: time.Millisecond, PingTimeout: 20 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Dial(t.Context(), "echo", nil)
	close(link.stalled)
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "stalled: nothing was received for 21ms") {
		t.Errorf("read: %v", err)
	}
	<-s.Done()
	<-served
}

// A caller whose context ends is not held by a link that takes nothing.
func TestCallersAreNotHeld(t *testing.T) {
	near, far := pair(t)
	defer far.Close()
	go func() { _, _ = io.WriteString(far, "gc-many/1 {}\n") }()
	s, err := Open(t.Context(), near, nearHello, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for s.link.full() == nil { // several windows fill the kernel's buffer and the link's queue
		c := dial(t, s, "x", nil)
		_ = c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := io.Copy(c, endless{}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		defer c.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Dial(ctx, "x", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := s.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// script plays the far side's first bytes and closes.
func script(t *testing.T, text string) net.Conn {
	near, far := pair(t)
	go func() {
		_, _ = io.WriteString(far, text)
		if c, ok := far.(*net.UnixConn); ok {
			_ = c.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, far)
		far.Close()
	}()
	return near
}

func TestWhatPrecedesTheGreeting(t *testing.T) {
	near, far := pair(t)
	go func() {
		_, _ = io.WriteString(far, "Welcome to \x1b[1mbuild\x1b[0m!\ngc-many/x {}\n"+strings.Repeat("noise ", 10_000)+"\n$ ")
		_ = Serve(t.Context(), far, farHello, echo)
	}()
	s, err := Open(t.Context(), near, nearHello, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := dial(t, s, "echo", nil)
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

func TestNoGreeting(t *testing.T) {
	for name, x := range map[string]struct{ text, want string }{
		"nothing": {"", "no greeting: unexpected EOF"},
		"message": {"This account is\r\n\x1b[31mclosed\a.\x1b[0m\n", "no greeting: unexpected EOF; instead of gc, something there printed: This account is [31mclosed.[0m"},
		"endless": {strings.Repeat("y\n", 1<<20), "no greeting in the first 65536 bytes; instead of gc, something there printed: y y"},
		"no line": {strings.Repeat("\x00", 1<<20), "no greeting in the first 65536 bytes"},
		"newer":   {`gc-many/2 {"version":"9.1"}` + "\n", "gc 9.1 there speaks gc-many/2, this gc speaks gc-many/1"},
	} {
		_, err := Open(t.Context(), script(t, x.text), nearHello, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
		if version := new(VersionError); errors.As(err, &version) != (name == "newer") {
			t.Errorf("%s: %v", name, err)
		}
	}
	near, far := pair(t)
	defer far.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, near, nearHello, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silent: %v", err)
	}
}

// The far side ends with its context, and with a near side of another version.
func TestServeEnds(t *testing.T) {
	near, far := pair(t)
	defer near.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- Serve(ctx, far, farHello, echo) }()
	s, err := Open(t.Context(), near, nearHello, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := dial(t, s, "echo", nil)
	cancel()
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
	err = Serve(t.Context(), script(t, `gc-many/3 {"version":"9"}`+"\n"), farHello, echo)
	if version := new(VersionError); !errors.As(err, &version) || version.Has != 3 {
		t.Error(err)
	}
}

// Bytes that are not the protocol end the session; they do not panic.
func TestGarbageAfterTheGreeting(t *testing.T) {
	s, err := Open(t.Context(), script(t, "gc-many/1 {}\n"+strings.Repeat("garbage", 10)), nearHello, Options{})
	if err == nil {
		<-s.Done()
		err = s.Err()
		s.Close()
	}
	if err == nil || errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
