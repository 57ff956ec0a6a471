package mux

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/mux/api"
)

// The connection that proved the server serves the first request, unless the
// server has hung up on its silence by then.
func TestFirstConnectionGrowsStale(t *testing.T) {
	for _, c := range []struct {
		idle  time.Duration
		dials int
	}{{0, 0}, {headerTimeout / 4, 0}, {headerTimeout, 1}} {
		synctest.Test(t, func(t *testing.T) {
			first, far := net.Pipe()
			defer far.Close()
			second, farther := net.Pipe()
			defer farther.Close()
			dials := 0
			client := newClient(api.Paths{}, first, func(context.Context) (net.Conn, error) { dials++; return second, nil })
			time.Sleep(c.idle) // of the bubble's clock
			conn, err := client.conns.take(t.Context())
			if err != nil || dials != c.dials || (conn.Conn == first) != (c.dials == 0) {
				t.Fatalf("after %v: %d dials, want %d (%v)", c.idle, dials, c.dials, err)
			}
			conn.Close()
			if _, err := first.Write([]byte("x")); err == nil {
				t.Fatal("the first connection is still open")
			}
		})
	}
}
