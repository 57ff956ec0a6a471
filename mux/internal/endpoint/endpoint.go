package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/keeper"
	"golang.org/x/sys/unix"
)

// Limits of connections.
const (
	headerTimeout = 10 * time.Second
	// MaxHeader limits the bytes of a request's header.
	MaxHeader = 64 << 10
	idleConn  = 5 * time.Minute
)

// Endpoint is the socket and its HTTP server.
type Endpoint struct {
	path  string
	link  func() *keeper.Link // to the keeper that holds the socket
	http  *http.Server
	conns sync.WaitGroup // listeners, and connections that net/http serves

	mu       sync.Mutex
	listener *net.UnixListener
	sock     socketID // identity of the listener's socket in the file system
	serving  bool
}

// New returns the endpoint at a path, which does not listen yet.
func New(path string, link func() *keeper.Link, h http.Handler) *Endpoint {
	e := &Endpoint{path: path, link: link}
	e.http = &http.Server{
		Handler: named(h), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleConn, MaxHeaderBytes: MaxHeader,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn), ConnContext: withPeer, ConnState: e.countConn,
	}
	return e
}

// Serve begins to accept connections.
func (e *Endpoint) Serve() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.serving = true
	e.serveOn(e.listener)
}

// serveOn accepts connections of one listener.
func (e *Endpoint) serveOn(l *net.UnixListener) {
	e.conns.Go(func() {
		err := e.http.Serve(peerListener{l})
		if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			slog.Error("cannot serve", "error", err)
		}
	})
}

// Close ends the connections: requests under way until ctx ends, then all others.
func (e *Endpoint) Close(ctx context.Context) {
	_ = e.http.Shutdown(ctx)
	_ = e.http.Close()
}

// Wait waits for the handlers of connections that were closed.
func (e *Endpoint) Wait() { e.conns.Wait() }

// countConn counts a connection until its last handler returns or hijacks it.
func (e *Endpoint) countConn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		e.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		e.conns.Done()
	}
}

// peerKey is the context's key for the pid at the other end of the connection.
type peerKey struct{}

// withPeer adds the pid at the other end to a connection's context.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, sys.PeerPID(conn))
}

// Peer returns the pid at the other end of a request's connection; 0 if unknown.
func Peer(r *http.Request) int {
	pid, _ := r.Context().Value(peerKey{}).(int)
	return pid
}

// peerListener refuses connections of other users.
type peerListener struct{ *net.UnixListener }

func (l peerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.UnixListener.Accept()
		if err != nil {
			return nil, err
		}
		if err := sys.CheckPeer(c); err != nil {
			slog.Warn("connection refused", "error", err)
			c.Close()
			continue
		}
		return c, nil
	}
}

// socketID identifies a socket in the file system.
type socketID struct{ dev, ino uint64 }

func statSocket(path string) socketID {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return socketID{}
	}
	return socketID{uint64(st.Dev), st.Ino}
}

// listenerID is the keeper's entry for the listening socket. Its data is the socket's
// identity in the file system.
const listenerID = "listener"

// Listen takes over the listening socket that the keeper holds, so that clients that
// connected during a restart are not lost. If there is none, it makes one.
func (e *Endpoint) Listen(entries []keeper.Entry) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, held := range entries {
		if held.ID != listenerID || len(held.FDs) == 0 {
			continue
		}
		f := os.NewFile(uintptr(held.FDs[0]), "listener")
		l, err := net.FileListener(f)
		f.Close()
		ul, ok := l.(*net.UnixListener)
		if err != nil || !ok {
			slog.Warn("cannot use the previous listener", "error", err)
			continue
		}
		ul.SetUnlinkOnClose(false)
		var id socketID
		_, _ = fmt.Sscanf(string(held.Data), "%d:%d", &id.dev, &id.ino)
		e.listener, e.sock = ul, id
		if statSocket(e.path) == id {
			return nil
		}
		ul.Close()
	}
	return e.newListener()
}

// newListener makes the socket and lets the keeper hold it. mu is held.
func (e *Endpoint) newListener() error {
	l, err := statedir.Listen(e.path)
	if err != nil {
		return fmt.Errorf("%w: listen at %s: %w", api.ErrStateDir, e.path, err)
	}
	id := statSocket(e.path)
	if err := give(e.link(), l, id); err != nil {
		return err
	}
	e.listener, e.sock = l, id
	return nil
}

// give lets the keeper hold a listener.
func give(link *keeper.Link, l *net.UnixListener, id socketID) error {
	raw, err := l.SyscallConn() // File() and Fd() would make the description blocking
	if err != nil {
		return err
	}
	var depositErr error
	err = raw.Control(func(fd uintptr) {
		depositErr = link.Deposit(listenerID, fmt.Appendf(nil, "%d:%d", id.dev, id.ino), int(fd))
	})
	return errors.Join(err, depositErr)
}

// Give lets a new keeper hold the socket.
func (e *Endpoint) Give(link *keeper.Link) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return give(link, e.listener, e.sock)
}

// Remove removes the socket from the file system unless it is another one.
func (e *Endpoint) Remove() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if statSocket(e.path) == e.sock {
		_ = os.Remove(e.path)
	}
}

// Relisten makes the socket again if it was removed or replaced.
func (e *Endpoint) Relisten() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.serving || statSocket(e.path) == e.sock {
		return
	}
	old := e.listener
	if err := e.newListener(); err != nil {
		slog.Error("cannot listen again", "error", err)
		return
	}
	e.serveOn(e.listener)
	old.Close()
}
