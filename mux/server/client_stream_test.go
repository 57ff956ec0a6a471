package server

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// TestAttachConnCloseHung: a server that hangs does not delay a client that leaves.
func TestAttachConnCloseHung(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "demo", "exec cat")
	attach := func() *client.AttachConn {
		conn, err := c.Attach(t.Context(), api.AttachRequest{Name: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	if err := attach().Close(); err != nil {
		t.Errorf("with a server: %v", err)
	}
	if info, err := c.Get(t.Context(), "demo"); err != nil || info.Attached != 0 {
		t.Errorf("%d clients, %v", info.Attached, err)
	}
	conn := attach()
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(st.Server.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(st.Server.PID, unix.SIGCONT)
	for p, err := proctree.Get(st.Server.PID); p.State != 'T'; p, err = proctree.Get(st.Server.PID) {
		if err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	if err := conn.Close(); !errors.Is(err, api.ErrUnreachable) {
		t.Errorf("with one that hangs: %v", err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}
