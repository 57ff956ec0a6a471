package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/keeper"
	"golang.org/x/sys/unix"
)

// serveOn accepts connections of one listener.
func (a *apiServer) serveOn(l *net.UnixListener) {
	a.conns.Go(func() {
		err := a.http.Serve(peerListener{l})
		if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			slog.Error("cannot serve", "error", err)
		}
	})
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

// listen takes over the listening socket that the keeper holds, so that clients that
// connected during a restart are not lost. If there is none, it makes one.
func (a *apiServer) listen(entries []keeper.Entry) error {
	for _, e := range entries {
		if e.ID != listenerID || len(e.FDs) == 0 {
			continue
		}
		f := os.NewFile(uintptr(e.FDs[0]), "listener")
		l, err := net.FileListener(f)
		f.Close()
		ul, ok := l.(*net.UnixListener)
		if err != nil || !ok {
			slog.Warn("cannot use the previous listener", "error", err)
			continue
		}
		ul.SetUnlinkOnClose(false)
		var id socketID
		_, _ = fmt.Sscanf(string(e.Data), "%d:%d", &id.dev, &id.ino)
		a.listener, a.sock = ul, id
		if statSocket(a.srv.settings.paths.Socket) == id {
			return nil
		}
		ul.Close()
	}
	return a.newListener()
}

// newListener makes the socket and lets the keeper hold it.
func (a *apiServer) newListener() error {
	srv := a.srv
	l, err := statedir.Listen(srv.settings.paths.Socket)
	if err != nil {
		return fmt.Errorf("%w: listen at %s: %w", api.ErrStateDir, srv.settings.paths.Socket, err)
	}
	raw, err := l.SyscallConn() // File() and Fd() would make the description blocking
	if err != nil {
		return err
	}
	id := statSocket(srv.settings.paths.Socket)
	var depositErr error
	err = raw.Control(func(fd uintptr) {
		depositErr = srv.keeper.link.Deposit(listenerID, fmt.Appendf(nil, "%d:%d", id.dev, id.ino), int(fd))
	})
	if err := errors.Join(err, depositErr); err != nil {
		return err
	}
	a.listener, a.sock = l, id
	return nil
}

// relisten makes the socket again if it was removed or replaced.
func (a *apiServer) relisten() {
	srv := a.srv
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if a.http == nil || a.listener == nil || statSocket(srv.settings.paths.Socket) == a.sock {
		return
	}
	old := a.listener
	if err := a.newListener(); err != nil {
		slog.Error("cannot listen again", "error", err)
		return
	}
	a.serveOn(a.listener)
	old.Close()
}
