package acp_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
	"gascity.dev/gc/runtime/runtimefake"
)

// lossy is a base whose first connection to the host breaks once a request came.
type lossy struct {
	*runtimefake.Fake
	host  func(control.Request) control.Reply
	loses func(control.Request) bool // reports whether the host gets the lost request
	calls int
}

func (l *lossy) Control(context.Context, string) (net.Conn, error) {
	near, far := net.Pipe()
	l.calls++
	first := l.calls == 1
	s := control.NewServer("test", func(_ context.Context, r control.Request) control.Reply {
		if !first {
			return l.host(r)
		}
		if l.loses(r) {
			l.host(r)
		}
		far.Close()
		return control.Reply{}
	})
	go func() { _ = s.Serve(&once{conn: far}) }()
	return near, nil
}

// once is a listener with one connection.
type once struct {
	net.Listener
	conn net.Conn
}

func (o *once) Accept() (net.Conn, error) {
	c := o.conn
	o.conn = nil
	if c == nil {
		return nil, net.ErrClosed
	}
	return c, nil
}

// An answer whose connection broke is carried out once, and succeeds only if it was.
func TestRespondAfterALostConnection(t *testing.T) {
	for name, c := range map[string]struct {
		arrived bool
		option  string
		err     error
	}{
		"it had arrived":               {true, "Yes", nil},
		"it had not":                   {false, "Yes", nil},
		"it had not, and is not valid": {false, "Maybe", runtime.ErrQuestion},
		"another's answer came before": {false, "Late", runtime.ErrQuestion},
	} {
		t.Run(name, func(t *testing.T) {
			ids := map[string]bool{}
			l := &lossy{Fake: runtimefake.New(), loses: func(control.Request) bool { return c.arrived }}
			l.host = func(r control.Request) control.Reply {
				if r.Answer.Option != "Yes" && !ids[r.Answer.ID] {
					return control.Reply{Error: &control.Error{Code: control.CodeStale, Message: "not open, or no such option"}}
				}
				ids[r.Answer.ID] = true
				return control.Reply{}
			}
			p, err := acp.New(acp.Options{Base: l, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Respond(t.Context(), "a", runtime.Answer{RequestID: "q", Action: c.option}); !errors.Is(err, c.err) {
				t.Errorf("%v, want %v", err, c.err)
			}
			if c.err == nil && len(ids) != 1 {
				t.Errorf("%d answers", len(ids))
			}
		})
	}
}
