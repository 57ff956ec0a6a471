package api

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
)

// TestFrozenController: a controller that accepts connections but does not reply
// is unreachable after ten seconds, for queries and commands.
func TestFrozenController(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gc") // a short path for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(StateDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", SocketPath(dir)) // never accepts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for name, ask := range map[string]func(c *Client) error{
		"status":  func(c *Client) error { _, err := c.Status(t.Context()); return err },
		"suspend": func(c *Client) error { return c.StopAgents(t.Context(), "a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Dial(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			start := time.Now()
			if err := ask(c); !errors.Is(err, runtime.ErrBackendUnreachable) || time.Since(start) > 15*time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	}
}
