package mux

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
)

// far is a server of nothing but connections: each is given to serve, with its
// number.
func far(serve func(n int, conn net.Conn, r *bufio.Reader)) (*Client, *atomic.Int32) {
	dials := new(atomic.Int32)
	return NewClient(func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		n := int(dials.Add(1))
		go func() {
			defer far.Close()
			serve(n, far, bufio.NewReader(far))
		}()
		return near, nil
	}), dials
}

// hears reads one request; "" at the end of the connection.
func hears(r *bufio.Reader) (method string) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return ""
	}
	_, _ = io.Copy(io.Discard, req.Body)
	return req.Method
}

const aStatus = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"version\":\"x\"}"

// says answers requests until the client hangs up.
func says(conn net.Conn, r *bufio.Reader, answer string) {
	for hears(r) != "" {
		_, _ = io.WriteString(conn, answer)
	}
}

// TestConnectionIsKept while replies are read to their end, also those that are
// errors, and not after one that was given up or that says so.
func TestConnectionIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		dials  int32
	}{
		"whole":   {aStatus, 1},
		"chunked": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 1},
		"error":   {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}", 1},
		"last":    {strings.Replace(aStatus, "\r\n", "\r\nConnection: close\r\n", 1), 3},
		"too far": {aStatus + "more", 3},
	} {
		client, dials := far(func(_ int, conn net.Conn, r *bufio.Reader) { says(conn, r, c.answer) })
		for range 3 {
			err := client.call(t.Context(), "POST", "/", nil, nil)
			if (err != nil) != (name == "error") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if dials.Load() != c.dials {
			t.Errorf("%s: %d connections, want %d", name, dials.Load(), c.dials)
		}
		client.Close()
	}
}

// TestConnectionThatEnded at rest costs nothing. A request that the server may
// have heard is made again only when that changes nothing.
func TestConnectionThatEnded(t *testing.T) {
	for name, c := range map[string]struct {
		hears       bool // the second request, and hangs up then
		method      string
		dials, made int32
	}{
		"POST":       {false, "POST", 2, 2},
		"GET":        {false, "GET", 2, 2},
		"POST heard": {true, "POST", 1, 2},
		"GET heard":  {true, "GET", 2, 3},
	} {
		var made atomic.Int32
		ended := make(chan struct{})
		client, dials := far(func(n int, conn net.Conn, r *bufio.Reader) {
			for hears(r) != "" {
				if made.Add(1) == 2 && c.hears {
					return
				}
				_, _ = io.WriteString(conn, aStatus)
				if n == 1 && !c.hears {
					conn.Close()
					close(ended)
					return
				}
			}
		})
		if err := client.call(t.Context(), "GET", "/", nil, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !c.hears {
			<-ended
		}
		err := client.call(t.Context(), c.method, "/", map[string]string{"a": "b"}, nil)
		if lost := c.hears && c.method == "POST"; (err != nil) != lost || lost && (!wasCut(err) || !errors.Is(err, api.ErrUnreachable)) {
			t.Errorf("%s: %v", name, err)
		}
		if dials.Load() != c.dials || made.Load() != c.made {
			t.Errorf("%s: %d connections and %d requests, want %d and %d", name, dials.Load(), made.Load(), c.dials, c.made)
		}
		client.Close()
	}
}

// TestRequestIsGivenUp: the end of the context ends a request in every phase,
// and its connection.
func TestRequestIsGivenUp(t *testing.T) {
	for name, answer := range map[string]string{
		"before the reply": "", "in its head": "HTTP/1.1 200 OK\r\nCont", "in its body": aStatus[:len(aStatus)-3],
	} {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		client, _ := far(func(_ int, conn net.Conn, r *bufio.Reader) {
			hears(r)
			_, _ = io.WriteString(conn, answer)
			cancel()
			_, err := r.ReadByte()
			over <- err
		})
		if _, err := client.Status(ctx); err != context.Canceled {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-over; err != io.EOF {
			t.Errorf("%s: the server sees %v", name, err)
		}
	}
	client, dials := far(func(int, net.Conn, *bufio.Reader) {})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Status(ended); err != context.Canceled || dials.Load() > 1 {
		t.Errorf("before it began: %v, %d connections", err, dials.Load())
	}
}

// TestReplyIsGivenUp: closing a stream ends a read of it.
func TestReplyIsGivenUp(t *testing.T) {
	over := make(chan error, 1)
	client, _ := far(func(_ int, conn net.Conn, r *bufio.Reader) {
		hears(r)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		_, err := r.ReadByte()
		over <- err
	})
	events, err := client.Events(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan error, 1)
	go func() {
		_, err := events.Next()
		next <- err
	}()
	events.Close()
	if err := <-next; !errors.Is(err, api.ErrUnreachable) {
		t.Errorf("Next: %v", err)
	}
	if err := <-over; err != io.EOF {
		t.Errorf("the server sees %v", err)
	}
}

// TestRefusedBeforeItWasSent: the reply counts that a server gives without
// having read the request.
func TestRefusedBeforeItWasSent(t *testing.T) {
	socket := testPaths(t).Socket
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var task sync.WaitGroup
	defer task.Wait()
	task.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.ReadFull(conn, make([]byte, 5000))
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 39\r\n\r\n"+`{"code":"too_large","message":"no way"}`)
	})
	client := NewClient(func(ctx context.Context) (net.Conn, error) { return statedir.Dial(ctx, socket) })
	defer client.Close()
	if err := client.Paste(t.Context(), "n", make([]byte, 1<<20)); !errors.Is(err, api.ErrTooLarge) {
		t.Error(err)
	}
}

// TestConnectionsAtRest are few, and none after a while or after Close.
func TestConnectionsAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Int32
		hold := make(chan struct{})
		ended := make(chan struct{}, 2*heldMost)
		client, dials := far(func(_ int, conn net.Conn, r *bufio.Reader) {
			open.Add(1)
			defer func() { open.Add(-1); ended <- struct{}{} }()
			for hears(r) != "" {
				<-hold
				_, _ = io.WriteString(conn, aStatus)
			}
		})
		ask := func(n int) {
			for range n {
				go func() {
					if _, err := client.Status(t.Context()); err != nil {
						t.Error(err)
					}
				}()
			}
			synctest.Wait()
		}
		ask(heldMost + 3)
		if dials.Load() != heldMost+3 {
			t.Errorf("%d connections for %d requests at a time", dials.Load(), heldMost+3)
		}
		close(hold)
		synctest.Wait()
		if open.Load() != heldMost {
			t.Errorf("%d connections at rest", open.Load())
		}
		for range 3 { // there were too many to keep
			<-ended
		}
		rested := time.Now()
		used := time.AfterFunc(heldTime/2, func() { ask(1) })
		defer used.Stop()
		for range heldMost - 1 {
			<-ended
		}
		if took := time.Since(rested); took != heldTime || open.Load() != 1 {
			t.Errorf("after %v %d connections are left, want the one that was used", took, open.Load())
		}
		hold = make(chan struct{})
		ask(1)
		client.Close()
		close(hold)
		if synctest.Wait(); open.Load() != 0 {
			t.Errorf("%d connections after Close", open.Load())
		}
	})
}
