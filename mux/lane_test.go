package mux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// laneServer serves quick routes and another one, which say who served; one says
// more than a socket takes, and one closes begun, waits for the end of its
// request and closes gone.
func laneServer(t *testing.T) (dial func() net.Conn, end func(), begun, gone chan struct{}) {
	t.Helper()
	begun, gone = make(chan struct{}), make(chan struct{})
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	m := http.NewServeMux()
	say := func(w http.ResponseWriter, r *http.Request) {
		serveJSON(w, r, func(w http.ResponseWriter, r *http.Request) (any, error) {
			b, err := readBody(w, r)
			if err != nil || string(b) == "bad" {
				return nil, fmt.Errorf("%w: %q", ErrRequest, b)
			}
			by := "net/http"
			if _, lane := w.(*laneReply); lane {
				by = "lane"
			}
			return by + " " + string(b), nil
		})
	}
	m.HandleFunc("GET /v1/status", say)
	m.HandleFunc("POST /v1/peek", say)
	m.HandleFunc("POST /v1/upgrade", say)
	m.HandleFunc("POST /v1/queue", say)
	m.HandleFunc("POST /v1/sessions/{name}/wait", func(w http.ResponseWriter, r *http.Request) {
		serveJSON(w, r, func(_ http.ResponseWriter, r *http.Request) (any, error) {
			close(begun)
			<-r.Context().Done()
			close(gone)
			return nil, r.Context().Err()
		})
	})
	m.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 8<<20)) })
	ls := newLanes(m)
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: m}
	served := make(chan error)
	go func() { served <- srv.Serve(ls.listen(l)) }()
	end = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		ls.leave(ctx)
		srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		ls.wait()
	})
	t.Cleanup(end)
	return func() net.Conn {
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(patience))
		return conn
	}, end, begun, gone
}

// TestLane: what is plain, quick and whole is answered in the lane, everything
// else by net/http, and from then on all of its connection.
func TestLane(t *testing.T) {
	const get = "GET /v1/status HTTP/1.1\r\nHost: mux\r\n\r\n"
	post := func(path, more, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: mux\r\nContent-Length: %d\r\n%s\r\n%s", path, len(body), more, body)
	}
	const other = "/v1/upgrade"
	large := strings.Repeat("x", laneSize)
	for _, c := range []struct {
		name string
		send []string // each is written when the answer before has come
		want []string
	}{
		{"one after the other", []string{get, post("/v1/peek", "User-Agent: me\r\n", "a"), get}, []string{`200 "lane "`, `200 "lane a"`, `200 "lane "`}},
		{"an error", []string{post("/v1/peek", "", "bad"), get}, []string{`400 {"code":"request","message":"bad request: \"bad\""}`, `200 "lane "`}},
		{"one that is watched", []string{post("/v1/queue", "", "a"), get, post("/v1/queue", "", "b")}, []string{`200 "lane a"`, `200 "lane "`, `200 "lane b"`}},
		{"another route", []string{get, post(other, "", "a"), get}, []string{`200 "lane "`, `200 "net/http a"`, `200 "net/http "`}},
		{"no route", []string{"GET /v1/none HTTP/1.1\r\nHost: mux\r\n\r\n", get}, []string{"404 404 page not found\n", `200 "net/http "`}},
		{"a field that may mean more", []string{post("/v1/peek", "Expect: 100-continue\r\n", "a")}, []string{"100 ", `200 "net/http a"`}},
		{"no host", []string{"GET /v1/status HTTP/1.1\r\n\r\n"}, []string{"400 400 Bad Request: missing required Host header"}},
		{"an empty name", []string{post("//v1/peek", "", "a"), get}, []string{`404 {"code":"not_found","message":"session not found: an empty name"}`, `200 "lane "`}},
		{"to be closed", []string{"GET /v1/status HTTP/1.1\r\nHost: mux\r\nConnection: close\r\n\r\n"}, []string{`200 "net/http "`, "over"}},
		{"an old version", []string{"GET /v1/status HTTP/1.0\r\n\r\n"}, []string{`200 "net/http "`, "over"}},
		{"no HTTP", []string{"hello\r\n\r\n"}, []string{"400 400 Bad Request", "over"}},
		{"two at once", []string{get + post("/v1/peek", "", "a")}, []string{`200 "net/http "`, `200 "net/http a"`}},
		{"a body with the next request in it", []string{post(other, "", get)[:55], post(other, "", get)[55:]}, []string{"", `200 "net/http ` + strings.ReplaceAll(get, "\r\n", `\r\n`) + `"`}},
		{"a half head", []string{get[:20], get[20:]}, []string{"", `200 "? "`}},
		{"a half body", []string{post("/v1/peek", "", "abc")[:58], post("/v1/peek", "", "abc")[58:]}, []string{"", `200 "? abc"`}},
		{"chunks", []string{"POST /v1/peek HTTP/1.1\r\nHost: mux\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"}, []string{`200 "net/http a"`}},
		{"a large one", []string{post("/v1/peek", "", large)}, []string{`200 "net/http ` + large + `"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dial, _, _, _ := laneServer(t)
			conn := dial()
			r := bufio.NewReader(conn)
			for i, want := range c.want {
				if i < len(c.send) {
					if _, err := io.WriteString(conn, c.send[i]); err != nil {
						t.Fatal(err)
					}
				}
				if want == "" {
					continue // the rest is written behind it, and may be read with it
				}
				got := laneAnswer(r)
				if strings.Contains(want, "?") {
					got = strings.NewReplacer("net/http", "?", "lane", "?").Replace(got)
				}
				if got != want {
					t.Errorf("answer %d: %q, want %q", i, got, want)
				}
			}
		})
	}
}

// laneAnswer reads one answer, as its status and body.
func laneAnswer(r *bufio.Reader) string {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return "over"
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode == 200 && kind != "application/json" {
		return kind
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, b)
}

func TestRoutesAreThere(t *testing.T) {
	_, ls := new(server).newHTTP()
	for _, route := range slices.Concat(quickRoutes, otherRoutes) {
		method, path, _ := strings.Cut(route, " ")
		r, err := http.NewRequest(method, strings.NewReplacer("{name}", "x", "{id}", "y").Replace(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, pattern := ls.mux.Handler(r); pattern != route {
			t.Errorf("%s is %q", route, pattern)
		}
	}
}

// TestLaneHead: a reply to HEAD has no body, and the next one is where it is
// looked for.
func TestLaneHead(t *testing.T) {
	dial, _, _, _ := laneServer(t)
	conn := dial()
	r := bufio.NewReader(conn)
	for _, method := range []string{"HEAD", "GET"} {
		if _, err := io.WriteString(conn, method+" /v1/status HTTP/1.1\r\nHost: mux\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %+v, %v", method, resp, err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil || (len(b) > 0) != (method == "GET") {
			t.Errorf("%s: %q, %v", method, b, err)
		}
	}
}

// TestLaneHangup: a request ends with its client.
func TestLaneHangup(t *testing.T) {
	dial, _, begun, gone := laneServer(t)
	conn := dial()
	if _, err := io.WriteString(conn, waitRequest); err != nil {
		t.Fatal(err)
	}
	<-begun
	conn.Close()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the request goes on")
	}
}

const waitRequest = "POST /v1/sessions/x/wait HTTP/1.1\r\nHost: mux\r\nContent-Length: 0\r\n\r\n"

// TestLaneCloses: the end of the server ends connections that wait, for a request
// or for an answer, and such whose clients do not take theirs.
func TestLaneCloses(t *testing.T) {
	dial, end, begun, gone := laneServer(t)
	waits, asks, deaf := dial(), dial(), dial()
	if _, err := io.WriteString(asks, waitRequest); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(waits, "GET /v1/status HTTP/1.1\r\nHost: mux\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(waits)
	if got := laneAnswer(r); got != `200 "lane "` {
		t.Error(got)
	}
	if _, err := io.WriteString(deaf, "GET /v1/sessions HTTP/1.1\r\nHost: mux\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, len("HTTP/1.1 200 OK"))
	if _, err := io.ReadFull(deaf, first); err != nil || string(first) != "HTTP/1.1 200 OK" {
		t.Fatalf("%q, %v", first, err)
	}
	<-begun
	end()
	if got := laneAnswer(r); got != "over" {
		t.Errorf("after the end: %s", got)
	}
	<-gone
	if got := laneAnswer(bufio.NewReader(asks)); got != "over" {
		t.Errorf("in the middle of a request: %s", got)
	}
	if n, err := io.Copy(io.Discard, deaf); err != nil || n >= 8<<20 {
		t.Errorf("%d bytes more, %v", n, err)
	}
}
