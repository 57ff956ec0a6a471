package testenv

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

// What a [Proxy] does with a request.
const (
	Pass      = iota
	Drop      // end the connection: the request does not arrive
	LoseReply // pass the request on, and end the connection before its reply
)

// Proxy listens on the Unix socket at path and passes HTTP requests on to the one at to,
// until the test ends. opened is called for each connection, and decide for each request;
// both may run at the same time.
func Proxy(t testing.TB, path, to string, opened func(), decide func(*http.Request) int) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			opened()
			go func() {
				defer near.Close()
				far, err := net.Dial("unix", to)
				if err != nil {
					return
				}
				defer far.Close()
				passRequests(near, far, decide)
			}()
		}
	}()
}

// passRequests serves one connection.
func passRequests(near, far net.Conn, decide func(*http.Request) int) {
	in, out := bufio.NewReader(near), bufio.NewReader(far)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		what := decide(req)
		if what == Drop || req.Write(far) != nil {
			return
		}
		if req.Header.Get("Upgrade") != "" {
			go func() { _, _ = io.Copy(far, in); far.Close() }()
			_, _ = io.Copy(near, out)
			return
		}
		resp, err := http.ReadResponse(out, req)
		if err != nil || what == LoseReply || resp.Write(near) != nil {
			return
		}
	}
}
