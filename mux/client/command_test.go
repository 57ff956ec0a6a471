package client

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestDurationsInRequests: what a server of another version gets is in milliseconds.
func TestDurationsInRequests(t *testing.T) {
	bodies := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
		_, _ = io.WriteString(w, `{"sessionId":"x","status":"running"}`)
	}))
	defer srv.Close()
	c := NewClient(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", srv.Listener.Addr().String())
	})
	defer c.Close()

	for grace, want := range map[time.Duration]string{
		1500 * time.Millisecond: `{"caller":"me","graceMs":1500}`,
		999 * time.Microsecond:  `{"caller":"me","graceMs":0}`,
		0:                       `{"caller":"me","graceMs":0}`,
		-time.Second:            `{"caller":"me","graceMs":-1000}`,
	} {
		if _, err := c.ProcessKill(t.Context(), "x", "me", grace); err != nil {
			t.Fatal(err)
		}
		if got := <-bodies; got != want {
			t.Errorf("kill after %v: %s, want %s", grace, got, want)
		}
	}

	if _, err := c.ProcessWait(t.Context(), "x", "me", 0); err != nil {
		t.Fatal(err)
	}
	if got := <-bodies; got != `{"caller":"me"}` {
		t.Errorf("wait without a limit: %s", got)
	}
	for _, limit := range []time.Duration{time.Nanosecond, time.Hour} {
		if _, err := c.ProcessWait(t.Context(), "x", "me", limit); err != nil {
			t.Fatal(err)
		}
		var in struct{ TimeoutMs int64 }
		if body := <-bodies; json.Unmarshal([]byte(body), &in) != nil || in.TimeoutMs < 1 || in.TimeoutMs > max(1, limit.Milliseconds()) {
			t.Errorf("wait %v: %s", limit, body)
		}
	}
}
