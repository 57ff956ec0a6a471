package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
)

// controlRecord is the control socket of a session whose program serves one; nil for any
// other session. It is part of the session's record.
type controlRecord struct {
	Socket string `json:"socket"` // absolute path
	Nonce  string `json:"nonce"`  // of the status reports that count
}

// newControl makes a record with a path and a nonce of its own.
func (srv *server) newControl() (*controlRecord, error) {
	dir := srv.controlDir()
	var name [6]byte
	var nonce [16]byte
	_, _ = rand.Read(name[:]) // never fails
	_, _ = rand.Read(nonce[:])
	c := &controlRecord{Socket: filepath.Join(dir, hex.EncodeToString(name[:])), Nonce: hex.EncodeToString(nonce[:])}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrStateDir, err)
	}
	return c, nil
}

// controlDir is the folder of the control sockets.
func (srv *server) controlDir() string { return filepath.Join(srv.settings.paths.Dir, "ctl") }

// environ returns the variables that only this session's program gets.
func (c *controlRecord) environ() []string {
	if c == nil {
		return nil
	}
	return []string{control.SocketVar + "=" + c.Socket, control.NonceVar + "=" + c.Nonce}
}

// nonce returns the nonce of the session's reports; "" if reports need none.
func (c *controlRecord) nonce() string {
	if c == nil {
		return ""
	}
	return c.Nonce
}

// remove removes the socket, which a killed program leaves behind.
func (c *controlRecord) remove() {
	if c != nil {
		_ = os.Remove(c.Socket)
	}
}

// sweepControls removes control sockets without a session, left by a server that died
// together with its keeper. No request is answered yet.
func (srv *server) sweepControls() {
	entries, err := os.ReadDir(srv.controlDir())
	if err != nil {
		return // none yet
	}
	keep := map[string]bool{}
	for _, s := range srv.sessions.byID {
		if s.rec.Control != nil {
			keep[s.rec.Control.Socket] = true
		}
	}
	for _, e := range entries {
		if path := filepath.Join(srv.controlDir(), e.Name()); !keep[path] {
			_ = os.Remove(path)
		}
	}
}

// Times of a connection to a control socket.
const (
	controlWait = 10 * time.Second      // for a program that has just started to serve it
	controlStep = 10 * time.Millisecond // before the second attempt; doubled up to controlPace
	controlPace = 250 * time.Millisecond
)

// dialControl connects to the program's control socket. A program that has just started
// gets controlWait to make it. ErrNoControl, ErrExited, ErrNotServed.
func (s *session) dialControl(ctx context.Context) (net.Conn, error) {
	c := s.rec.Control
	if c == nil {
		return nil, fmt.Errorf("%s: %w", s.name(), api.ErrNoControl)
	}
	limited, cancel := context.WithTimeout(ctx, controlWait)
	defer cancel()
	for step := controlStep; ; step = min(2*step, controlPace) {
		conn, err := statedir.Dial(limited, c.Socket)
		if err == nil {
			if err = sys.CheckPeer(conn); err == nil {
				return conn, nil
			}
			conn.Close()
			return nil, err
		}
		if !s.life.running() {
			return nil, fmt.Errorf("%s: %w", s.name(), api.ErrExited)
		}
		notYet := errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.EAGAIN)
		if ctx.Err() == nil && (!notYet || clock.Sleep(limited, step) != nil) {
			return nil, fmt.Errorf("%s: %w: %w", s.name(), api.ErrNotServed, err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}
