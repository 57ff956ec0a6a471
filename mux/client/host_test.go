package client

import (
	"errors"
	"net"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
)

func TestParseHost(t *testing.T) {
	for in, want := range map[string]Host{
		"ssh://h":                {Name: "h"},
		"ssh://me@h.example:22/": {User: "me", Name: "h.example", Port: 22},
		"ssh://[::1]:2222":       {Name: "::1", Port: 2222},
	} {
		got, err := ParseHost(in)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
		if again, err := ParseHost(got.String()); err != nil || again != want {
			t.Errorf("%s: said %s, read again %+v, %v", in, got, again, err)
		}
	}
	for _, in := range []string{
		"", "h", "http://h", "ssh://", "ssh://h/x", "ssh://h?x", "ssh://h#x", "ssh://me:pw@h", "ssh://-oX=1", "ssh://-l@h", "ssh://h:0", "ssh://h:99999", "ssh://h:x",
	} {
		if h, err := ParseHost(in); !errors.Is(err, api.ErrRequest) {
			t.Errorf("%q: %+v, %v", in, h, err)
		}
	}
}

// closing notes whether the program had ended when its connection was closed.
type closing struct {
	net.Conn
	ended <-chan struct{}
	after bool
}

func (c *closing) Close() error {
	select {
	case <-c.ended:
		c.after = true
	case <-time.After(10 * time.Second):
	}
	return c.Conn.Close()
}

// A program that waits for its host is ended before its connection: the process that
// reads may exit once that is closed.
func TestCloseEndsTheProgramFirst(t *testing.T) {
	conn, err := Host{Name: "h", Program: "sh -c 'exec sleep 600'"}.dial("x")
	if err != nil {
		t.Fatal(err)
	}
	c := &closing{Conn: conn.Conn, ended: conn.ended}
	conn.Conn = c
	if err := conn.Close(); err != nil || !c.after {
		t.Errorf("%v, ended before: %v", err, c.after)
	}
	<-conn.ended
}
