package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// ErrNoStream reports that a controller holds no stream to a machine, or is too old to
// share one.
var ErrNoStream = errors.New("the controller holds no stream to that machine")

// streamProtocol is what a connection to the controller's socket is upgraded to.
const streamProtocol = "gc-many"

// streamWait limits the wait for a controller that hangs.
const streamWait = 5 * time.Second

// stream hands the connection to what serves the machine named by host, over the stream
// that the controller holds to it.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	serve := s.city.HostStream(r.FormValue("host"))
	if serve == nil {
		w.WriteHeader(http.StatusNotFound)
		reply(w, NewWireError(fmt.Errorf("%w: %s", ErrNoStream, r.FormValue("host"))))
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		fail(w, err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Time{})
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", streamProtocol)
	if err == nil {
		_ = serve(context.WithoutCancel(r.Context()), &upgraded{conn, buffered.Reader})
	}
}

// upgraded is a connection whose first bytes may be in a buffer.
type upgraded struct {
	net.Conn
	r *bufio.Reader
}

// Read empties the buffer first.
func (u *upgraded) Read(p []byte) (int, error) { return u.r.Read(p) }

// Stream returns a byte stream to the gc of another machine, as many.Open wants it, over the one
// that the controller of the city in dir holds. ErrNoController, or ErrNoStream.
func Stream(ctx context.Context, dir, host string) (io.ReadWriteCloser, error) {
	conn, err := dialUnix(ctx, SocketPath(dir))
	if err != nil {
		return nil, dialError(dir, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(streamWait))
	_, err = fmt.Fprintf(conn, "POST /v1/hosts/stream?host=%s HTTP/1.1\r\nHost: city\r\nConnection: Upgrade\r\nUpgrade: %s\r\nContent-Length: 0\r\n\r\n",
		url.QueryEscape(host), streamProtocol)
	r := bufio.NewReader(conn)
	var resp *http.Response
	if err == nil {
		resp, err = http.ReadResponse(r, nil)
	}
	switch {
	case !stop():
		err = context.Cause(ctx)
	case err == nil && resp.StatusCode != http.StatusSwitchingProtocols:
		err = fmt.Errorf("%w: %s", ErrNoStream, resp.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return &upgraded{conn, r}, nil
}
