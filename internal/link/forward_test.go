package link

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"gascity.dev/gc/mux/many"
)

// shared returns a session of another process over a link.
func shared(t *testing.T, l *Link) *many.Session {
	t.Helper()
	near, far := pair(t)
	go func() { _ = l.Forward(context.Background(), far, many.Hello{Version: "holder"}) }()
	s, err := many.Open(t.Context(), near, many.Hello{}, many.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestForward(t *testing.T) {
	var last net.Conn
	l, slept := newLink(t, func(context.Context) (io.ReadWriteCloser, error) {
		near, far := pair(t)
		last = far
		go func() {
			_ = many.Serve(context.Background(), far, many.Hello{}, func(_ context.Context, r many.Request, c net.Conn) {
				if r.Kind != "echo" || string(r.Args) != `"args"` {
					_ = many.Refuse(c, "kind", "no "+r.Kind)
					return
				}
				_ = many.Accept(c)
				_, _ = io.Copy(c, c)
			})
		}()
		return near, nil
	})
	s := shared(t, l)
	c, err := s.Dial(t.Context(), "echo", "args")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	data := strings.Repeat("there and back ", 100_000)
	go func() {
		_, _ = io.WriteString(c, data)
		closeWrite(c)
	}()
	if got, err := io.ReadAll(c); err != nil || string(got) != data {
		t.Errorf("%d bytes of %d, %v", len(got), len(data), err)
	}

	no, err := s.Dial(t.Context(), "other", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer no.Close()
	refused := new(many.Refused)
	if _, err := no.Read(make([]byte, 1)); !errors.As(err, &refused) || refused.Code != "kind" || refused.Text != "no other" {
		t.Errorf("%v", err)
	}

	// A reply that is cut is an error, not a short one.
	c, err = s.Dial(t.Context(), "echo", "args")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	last.Close()
	if n, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("cut: %d, %v", n, err)
	}

	// While the machine is away, so is every connection, with the reason.
	until(t, l.Changes(t.Context()), Away)
	c, err = shared(t, l).Dial(t.Context(), "echo", "args")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Read(make([]byte, 1)); !errors.As(err, &refused) || refused.Code != CodeAway || !strings.Contains(refused.Text, "not connected") {
		t.Errorf("away: %v", err)
	}
	<-slept
}
