package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const maxIdle = 8

// pipes returns a transport whose connections are pipes; each is given to serve,
// with its number.
func pipes(serve func(n int, conn net.Conn, r *bufio.Reader)) (*Transport, *atomic.Int32) {
	dials := new(atomic.Int32)
	return &Transport{MaxIdle: maxIdle, Dial: func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		n := int(dials.Add(1))
		go func() {
			defer far.Close()
			serve(n, far, bufio.NewReader(far))
		}()
		return near, nil
	}}, dials
}

// request makes a request and reads its reply to the end.
func request(ctx context.Context, tr http.RoundTripper, method, body string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://mux/", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	resp, err := tr.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
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

// says answers requests until the transport hangs up.
func says(conn net.Conn, r *bufio.Reader, answer string) {
	for hears(r) != "" {
		_, _ = io.WriteString(conn, answer)
	}
}

// TestConnectionIsKept: a connection is kept while replies, errors included,
// are read to their end, and not after one that was given up or that closes it.
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
		tr, dials := pipes(func(_ int, conn net.Conn, r *bufio.Reader) { says(conn, r, c.answer) })
		for range 3 {
			if status, err := request(t.Context(), tr, "POST", ""); err != nil || (status != 200) != (name == "error") {
				t.Errorf("%s: %d, %v", name, status, err)
			}
		}
		if dials.Load() != c.dials {
			t.Errorf("%s: %d connections, want %d", name, dials.Load(), c.dials)
		}
		tr.CloseIdleConnections()
	}
}

// TestConnectionThatEnded: a connection that ended while idle fails no request.
// A request that the server may have read is repeated only if it is a GET.
func TestConnectionThatEnded(t *testing.T) {
	for name, c := range map[string]struct {
		hears       bool // reads the second request, then hangs up
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
		tr, dials := pipes(func(n int, conn net.Conn, r *bufio.Reader) {
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
		if _, err := request(t.Context(), tr, "GET", ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !c.hears {
			<-ended
		}
		_, err := request(t.Context(), tr, c.method, "some")
		if lost := c.hears && c.method == "POST"; (err != nil) != lost || lost && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
		if dials.Load() != c.dials || made.Load() != c.made {
			t.Errorf("%s: %d connections and %d requests, want %d and %d", name, dials.Load(), made.Load(), c.dials, c.made)
		}
		tr.CloseIdleConnections()
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
		tr, _ := pipes(func(_ int, conn net.Conn, r *bufio.Reader) {
			hears(r)
			_, _ = io.WriteString(conn, answer)
			cancel()
			_, err := r.ReadByte()
			over <- err
		})
		if _, err := request(ctx, tr, "GET", ""); err != context.Canceled {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-over; err != io.EOF {
			t.Errorf("%s: the server sees %v", name, err)
		}
	}
	tr, dials := pipes(func(int, net.Conn, *bufio.Reader) {})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := request(ended, tr, "GET", ""); err != context.Canceled || dials.Load() > 1 {
		t.Errorf("before it began: %v, %d connections", err, dials.Load())
	}
}

// TestReplyIsGivenUp: closing a stream ends a read of it.
func TestReplyIsGivenUp(t *testing.T) {
	over := make(chan error, 1)
	tr, _ := pipes(func(_ int, conn net.Conn, r *bufio.Reader) {
		hears(r)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		_, err := r.ReadByte()
		over <- err
	})
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://mux/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := resp.Body.Read(make([]byte, 1))
		read <- err
	}()
	resp.Body.Close()
	if err := <-read; err == nil {
		t.Error("something was read")
	}
	if err := <-over; err != io.EOF {
		t.Errorf("the server sees %v", err)
	}
}

// TestRefusedBeforeItWasSent: a server may reply before it has read the request.
func TestRefusedBeforeItWasSent(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
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
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	})
	tr := &Transport{Dial: func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", socket) }}
	if status, err := request(t.Context(), tr, "POST", strings.Repeat("x", 1<<20)); status != 413 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}

// TestIdleConnections: few are kept, and none after IdleTime or
// CloseIdleConnections.
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Int32
		hold := make(chan struct{})
		ended := make(chan struct{}, 2*maxIdle)
		tr, dials := pipes(func(_ int, conn net.Conn, r *bufio.Reader) {
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
					if _, err := request(t.Context(), tr, "GET", ""); err != nil {
						t.Error(err)
					}
				}()
			}
			synctest.Wait()
		}
		ask(maxIdle + 3)
		if dials.Load() != maxIdle+3 {
			t.Errorf("%d connections for %d requests at a time", dials.Load(), maxIdle+3)
		}
		close(hold)
		synctest.Wait()
		if open.Load() != maxIdle {
			t.Errorf("%d idle connections", open.Load())
		}
		for range 3 { // there were too many to keep
			<-ended
		}
		since := time.Now()
		used := time.AfterFunc(IdleTime/2, func() { ask(1) })
		defer used.Stop()
		for range maxIdle - 1 {
			<-ended
		}
		if took := time.Since(since); took != IdleTime || open.Load() != 1 {
			t.Errorf("after %v %d connections are left, want the one that was used", took, open.Load())
		}
		hold = make(chan struct{})
		ask(1)
		tr.CloseIdleConnections()
		close(hold)
		if synctest.Wait(); open.Load() != 0 {
			t.Errorf("%d connections after Close", open.Load())
		}
	})
}

// TestWhile: the work is done once, while the server answers.
func TestWhile(t *testing.T) {
	done := make(chan struct{})
	tr, _ := pipes(func(n int, conn net.Conn, r *bufio.Reader) {
		for hears(r) != "" {
			if n == 1 { // the request is made again
				return
			}
			<-done
			_, _ = io.WriteString(conn, aStatus)
		}
	})
	first, err := tr.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr.Keep(first, IdleTime)
	calls := 0
	if _, err := request(t.Context(), tr.While(func() { calls++; close(done) }), "GET", ""); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// TestKeptConnection: the next request uses it unless it was idle for too long.
func TestKeptConnection(t *testing.T) {
	const limit = time.Second
	for _, c := range []struct {
		idle  time.Duration
		dials int
	}{{0, 0}, {limit / 2, 0}, {limit, 1}} {
		synctest.Test(t, func(t *testing.T) {
			first, far := net.Pipe()
			defer far.Close()
			second, farther := net.Pipe()
			defer farther.Close()
			dials := 0
			tr := &Transport{MaxIdle: maxIdle, Dial: func(context.Context) (net.Conn, error) { dials++; return second, nil }}
			tr.Keep(first, limit)
			time.Sleep(c.idle) // of the bubble's clock
			conn, err := tr.Conn(t.Context())
			if err != nil || dials != c.dials || (conn == first) != (c.dials == 0) {
				t.Fatalf("after %v: %d dials, want %d (%v)", c.idle, dials, c.dials, err)
			}
			conn.Close()
			if _, err := first.Write([]byte("x")); err == nil {
				t.Fatal("the first connection is still open")
			}
		})
	}
}
