package mux

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// upgrader makes the one request of an attach connection on a connection of its
// own. The usual transport starts three goroutines for it and looks for one to
// use again: half of what an attachment takes to show something.
type upgrader struct {
	c         *Client
	meanwhile func() // is called while the server answers; may be nil
}

// RoundTrip implements http.RoundTripper. The body of a 101 is the connection.
func (u upgrader) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	conn, err := u.c.connect(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	buffer := bufio.NewReader(conn)
	err = r.Write(conn)
	var resp *http.Response
	if err == nil && u.meanwhile != nil {
		u.meanwhile()
	}
	if err == nil {
		resp, err = http.ReadResponse(buffer, r)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = upgraded{Reader: buffer, Conn: conn}
	} else {
		resp.Body = refused{resp.Body, conn}
	}
	return resp, nil
}

// upgraded is a connection whose first bytes may be in a buffer.
type upgraded struct {
	io.Reader
	net.Conn
}

// Read takes what is in the buffer first.
func (u upgraded) Read(p []byte) (int, error) { return u.Reader.Read(p) }

// refused is the body of a reply that was no upgrade; its end is the
// connection's.
type refused struct {
	io.Reader
	conn net.Conn
}

// Close closes the connection.
func (b refused) Close() error { return b.conn.Close() }
