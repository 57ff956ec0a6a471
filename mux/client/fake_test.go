package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"gascity.dev/gc/mux/api"
)

// cannedServer returns a client of a server that answers requests, on any
// connection, with the replies in order, and then hangs up.
func cannedServer(t *testing.T, replies ...string) *Client {
	next := make(chan string, len(replies))
	for _, r := range replies {
		next <- r
	}
	close(next)
	c := NewClient(func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			for r := bufio.NewReader(far); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				reply, ok := <-next
				if !ok {
					return
				}
				_, _ = io.WriteString(far, reply)
			}
		}()
		return near, nil
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// replyOf is a reply of JSON.
func replyOf(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(body), body)
}

// TestClientErrors: what a caller sees of a server that hangs up or refuses.
func TestClientErrors(t *testing.T) {
	c := cannedServer(t, replyOf(200, `{"version":"x"}`))
	if st, err := c.Status(t.Context()); err != nil || st.Version != "x" {
		t.Errorf("%+v, %v", st, err)
	}
	if err := c.Paste(t.Context(), "n", nil); !errors.Is(err, api.ErrUnreachable) || !wasCut(err) {
		t.Errorf("hung up: %v", err)
	}
	c = cannedServer(t, replyOf(413, `{"code":"too_large","message":"no way"}`))
	if err := c.Paste(t.Context(), "n", nil); !errors.Is(err, api.ErrTooLarge) {
		t.Errorf("refused: %v", err)
	}
	c = cannedServer(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	events, err := c.Events(t.Context(), "")
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
		t.Errorf("closed: %v", err)
	}
}

// TestPeekAgainOfAnOlderServer, which answers a token with ids: the list is sent.
func TestPeekAgainOfAnOlderServer(t *testing.T) {
	c := cannedServer(t,
		replyOf(200, `{"results":[{"id":"i","name":"a","state":"running","revision":7,"unchanged":true}],"watch":"t"}`),
		replyOf(200, `{"results":["i"]}`),
		replyOf(200, `{"results":[{"id":"i","name":"a","state":"running","revision":8,"text":"new"}]}`))
	asked := []api.PeekRequest{{Name: "a", IfRevision: 7}}
	if got, err := c.PeekMany(t.Context(), asked); err != nil || !got[0].Unchanged {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := c.PeekMany(t.Context(), asked); err != nil || got[0].Text != "new" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestScreensOfAnOlderServer, which does not have the route.
func TestScreensOfAnOlderServer(t *testing.T) {
	c := cannedServer(t, "HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n404 page not found\n", replyOf(403, `{"code":"foreign","message":"not yours"}`))
	if _, err := c.Screens(t.Context()); !errors.Is(err, api.ErrVersion) {
		t.Errorf("an older server: %v", err)
	}
	if _, err := c.Screens(t.Context()); !errors.Is(err, api.ErrForeign) {
		t.Errorf("a refusal: %v", err)
	}
	if _, err := c.Screens(t.Context()); !errors.Is(err, api.ErrUnreachable) {
		t.Errorf("hung up: %v", err)
	}
}
