package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"gascity.dev/gc/internal/acp/control"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server on a socket and returns it with a way to dial it.
func serve(t *testing.T, h control.Handler) (*control.Server, func() net.Conn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s := control.NewServer("test", h)
	served := make(chan error)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s, func() net.Conn {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
}

func TestRequestsAreAnswered(t *testing.T) {
	_, dial := serve(t, func(ctx context.Context, r control.Request) control.Reply {
		switch r.Op {
		case control.OpNudge:
			return control.Reply{Receipt: &control.Receipt{State: control.StateSubmitted, Detail: r.Nudge.ID}}
		case control.OpRespond:
			return control.Reply{Error: &control.Error{Code: control.CodeStale, Message: "no such question"}}
		}
		return control.Reply{}
	})
	c := control.NewClient(dial())
	defer c.Close()
	r, err := c.Nudge(t.Context(), control.Nudge{ID: "m1"})
	if err != nil || r != (control.Receipt{State: control.StateSubmitted, Detail: "m1"}) {
		t.Errorf("nudge: %+v, %v", r, err)
	}
	var e *control.Error
	if err := c.Respond(t.Context(), control.Answer{}); !errors.As(err, &e) || e.Code != control.CodeStale {
		t.Errorf("respond: %v", err)
	}
	if err := c.Interrupt(t.Context()); err != nil {
		t.Errorf("interrupt: %v", err)
	}
}

// A watcher gets the last state, and a request its answer, although the server closes at
// once.
func TestLastStateReachesWatchers(t *testing.T) {
	for range 50 {
		answer := make(chan struct{})
		asked := make(chan struct{})
		s, dial := serve(t, func(context.Context, control.Request) control.Reply {
			close(asked)
			<-answer
			return control.Reply{Receipt: &control.Receipt{State: control.StateDead}}
		})
		c, watcher := control.NewClient(dial()), control.NewClient(dial())
		receipt := make(chan control.Receipt, 1)
		go func() {
			r, _ := c.Nudge(context.Background(), control.Nudge{ID: "m"})
			receipt <- r
		}()
		<-asked
		begun, last := make(chan struct{}, 1), make(chan string, 1)
		go func() {
			phase := ""
			_ = watcher.Watch(context.Background(), func(st control.State) {
				phase = st.Phase
				select {
				case begun <- struct{}{}:
				default:
				}
			})
			last <- phase
		}()
		<-begun
		s.Publish(control.State{Phase: control.PhaseEnded})
		close(answer)
		s.Close()
		if got := <-last; got != control.PhaseEnded {
			t.Fatalf("the last state is %q", got)
		}
		if got := <-receipt; got.State != control.StateDead {
			t.Fatalf("the receipt is %+v", got)
		}
		c.Close()
		watcher.Close()
	}
}

// A slow request does not delay another one of the same connection.
func TestRequestsRunBesideEachOther(t *testing.T) {
	release := make(chan struct{})
	_, dial := serve(t, func(ctx context.Context, r control.Request) control.Reply {
		if r.Op == control.OpNudge {
			<-release
			return control.Reply{Receipt: &control.Receipt{}}
		}
		close(release)
		return control.Reply{}
	})
	c := control.NewClient(dial())
	defer c.Close()
	done := make(chan error)
	go func() {
		_, err := c.Nudge(t.Context(), control.Nudge{ID: "a"})
		done <- err
	}()
	if err := c.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Whoever watches gets the latest state, however slowly it reads.
func TestWatch(t *testing.T) {
	s, dial := serve(t, nil)
	c := control.NewClient(dial())
	defer c.Close()
	const last = 1000
	var seen uint64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watching := make(chan struct{})
	done := make(chan error)
	go func() {
		done <- c.Watch(ctx, func(st control.State) {
			if st.Version < seen {
				t.Errorf("version %d after %d", st.Version, seen)
			}
			if seen = st.Version; seen == 0 {
				close(watching)
			}
			if seen == last {
				cancel()
			}
		})
	}()
	<-watching
	for i := range last {
		s.Publish(control.State{Version: uint64(i + 1)})
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestBadClientsAreCutOff(t *testing.T) {
	s, dial := serve(t, func(context.Context, control.Request) control.Reply { return control.Reply{} })
	s.Publish(control.State{Phase: control.PhaseReady})
	for name, line := range map[string]string{
		"half a line": `{"seq":1,`,
		"no JSON":     "GET / HTTP/1.1\n",
		"no number":   `{"op":"state"}` + "\n",
		"too long":    `{"op":"` + strings.Repeat("x", control.MaxLine) + "\"}\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial()
			defer conn.Close()
			io.WriteString(conn, line)
			conn.(*net.UnixConn).CloseWrite()
			r := bufio.NewReader(conn)
			if _, err := r.ReadString('\n'); err != nil {
				t.Fatalf("hello: %v", err)
			}
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("answered %q, %v", rest, err)
			}
		})
	}
	c := control.NewClient(dial())
	defer c.Close()
	if st, err := c.State(t.Context()); err != nil || st.Phase != control.PhaseReady {
		t.Errorf("another client afterwards: %+v, %v", st, err)
	}
}

func TestClientOfAnotherVersion(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		b, _ := json.Marshal(control.Hello{Control: 2})
		there.Write(append(b, '\n'))
		io.Copy(io.Discard, there)
	}()
	c := control.NewClient(here)
	defer c.Close()
	if _, err := c.State(t.Context()); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("got %v", err)
	}
}

// A host that dies or hangs does not hold its clients.
func TestClientOfADeadHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := control.NewClient(here)
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { _, err := c.State(ctx); done <- err }() // nobody reads the request
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("hangs: %v", err)
		}
		there.Close()
		if _, err := c.State(t.Context()); !errors.Is(err, control.ErrLost) {
			t.Errorf("dead: %v", err)
		}
	})
}

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := control.Listen(path); err == nil {
		t.Error("a second server took a socket in use")
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	again, err := control.Listen(path)
	if err != nil {
		t.Fatalf("a left socket: %v", err)
	}
	again.Close()
}

// TestFirstState: a client that is faster than the host's first state sees one that
// starts.
func TestFirstState(t *testing.T) {
	_, dial := serve(t, nil)
	c := control.NewClient(dial())
	defer c.Close()
	if s, err := c.State(t.Context()); err != nil || s.Phase != control.PhaseStarting || s.Activity != "starting" || s.Since.IsZero() {
		t.Errorf("%+v, %v", s, err)
	}
}
