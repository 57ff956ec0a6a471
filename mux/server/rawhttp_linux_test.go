package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/endpoint"
	"gascity.dev/gc/mux/internal/persontest"
)

// rawConn is a connection to the server's socket for bytes that no client would send.
type rawConn struct {
	*net.UnixConn
	t *testing.T
	r *bufio.Reader
}

func dialRaw(t *testing.T, c *client.Client) *rawConn {
	t.Helper()
	conn, err := net.Dial("unix", c.Paths().Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &rawConn{conn.(*net.UnixConn), t, bufio.NewReader(conn)}
}

// says writes; the server may have disconnected.
func (c *rawConn) says(text string) { _, _ = c.Write([]byte(text)) }

// status reads a status line and the head; 0 if the server disconnected.
func (c *rawConn) status() int {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return 0
	}
	for head := line; head != "\r\n" && err == nil; {
		head, err = c.r.ReadString('\n')
	}
	code, _ := strconv.Atoi(strings.SplitN(line+" ", " ", 3)[1])
	return code
}

// event reads one server-sent event; "" at the end of the stream. Lines with the
// lengths of chunks (RFC 9112, 7.1) are skipped: they have no field.
func (c *rawConn) event() (kind, id, data string) {
	for {
		line, err := c.r.ReadString('\n')
		field, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case err != nil:
			return "", "", ""
		case line == "\n" && kind != "":
			return kind, id, data
		case ok && field == "event":
			kind = value
		case ok && field == "id":
			id = value
		case ok && field == "data":
			data = value
		}
	}
}

const getEvents = "GET /v1/events%s HTTP/1.1\r\nHost: mux\r\n\r\n"

// TestSlowSubscriber: a subscriber that does not read costs no memory and blocks
// nothing. It learns of the gap and where to resume.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "n", `stty -echo; echo ready; read x; i=0; while [ $i -lt 12000 ]; do i=$((i+1)); printf '\033]2;%0500d\007' $i; done; echo written; exec cat`)
	await(t, c, "n", "^ready")
	slow := dialRaw(t, c)
	slow.says(fmt.Sprintf(getEvents, ""))
	if code := slow.status(); code != 200 {
		t.Fatal(code)
	}
	before := serverMemory(t, c)
	if err := c.Keys(t.Context(), "n", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	await(t, c, "n", "^written")
	if grown := serverMemory(t, c) - before; grown > 48<<20 {
		t.Errorf("%d bytes for a subscriber that does not read", grown)
	}
	events, last, epoch := 0, uint64(0), ""
	for {
		kind, id, data := slow.event()
		if kind == "slow" {
			if events == 0 || events > 11000 {
				t.Errorf("%d events came before the gap", events)
			}
			again := dialRaw(t, c)
			again.says(fmt.Sprintf(getEvents, "?after="+data))
			if code := again.status(); code != 200 {
				t.Fatalf("after %q: status %d", data, code)
			}
			if kind, id, _ := again.event(); kind != api.EventTitle || eventNumber(t, id) != eventNumber(t, data)+1 {
				t.Errorf("after %q came %s %s", data, kind, id)
			}
			break
		}
		if kind == "" { // it was cut off because it read no event for ten seconds
			again := dialRaw(t, c)
			again.says(fmt.Sprintf(getEvents, fmt.Sprintf("?after=%s:%d", epoch, last)))
			if code := again.status(); code != 410 {
				t.Fatalf("cut off after %d events, then %d for where it was", events, code)
			}
			break
		}
		if n := eventNumber(t, id); last != 0 && n != last+1 {
			t.Fatalf("event %d follows %d", n, last)
		} else {
			last = n
			epoch, _, _ = strings.Cut(id, ":")
		}
		events++
	}
	stale := dialRaw(t, c)
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stale.says(fmt.Sprintf(getEvents, "?after="+st.Epoch+":1"))
	if code := stale.status(); code != 410 {
		t.Errorf("a place that is not kept: %d", code)
	}
}

// eventNumber returns the number in an event's id.
func eventNumber(t *testing.T, id string) uint64 {
	t.Helper()
	_, seq, _ := strings.Cut(id, ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil {
		t.Fatalf("id %q", id)
	}
	return n
}

func serverMemory(t *testing.T, c *client.Client) int64 {
	t.Helper()
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st.Server.MemoryBytes
}

// TestSubscribersThatVanish: they leave nothing behind in the server.
func TestSubscribersThatVanish(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "n", "while :; do printf '\\a'; sleep 0.01; done")
	before := openFiles(t, c)
	for range 3 {
		var all []*rawConn
		for i := range 40 {
			r := dialRaw(t, c)
			r.says(fmt.Sprintf(getEvents, ""))
			if i%2 == 0 { // the others vanish before the answer
				if kind, _, _ := r.event(); kind == "" {
					t.Fatal("no event came")
				}
			}
			all = append(all, r)
		}
		for _, r := range all {
			r.Close()
		}
	}
	awaitOpenFiles(t, c, func(n int) bool { return n <= before+2 }) // the next event finds out
}

// openFiles returns the number of the server's descriptors.
func openFiles(t *testing.T, c *client.Client) int {
	t.Helper()
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", st.Server.PID))
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// awaitOpenFiles waits until enough accepts their number.
func awaitOpenFiles(t *testing.T, c *client.Client, enough func(n int) bool) {
	t.Helper()
	for deadline := time.Now().Add(persontest.Patience); !enough(openFiles(t, c)); {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors", openFiles(t, c))
		}
	}
}

// TestHalfRequests: a truncated request has no effect, and malformed ones are refused.
func TestHalfRequests(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "h", "exec cat")
	const paste = "POST /v1/sessions/h/paste HTTP/1.1\r\nHost: mux\r\nContent-Type: application/json\r\n"
	for _, cut := range []string{
		"", "G", "GET /v1/sta", "GET /v1/status HTTP/1.1\r\nHost: m", paste, paste + "Content-Length: 100\r\n\r\n",
		paste + "Content-Length: 100\r\n\r\n" + `{"data":"aGVsbG8="`,
		paste + "Transfer-Encoding: chunked\r\n\r\n13\r\n" + `{"data":"aGVsbG8="}`,
	} {
		conn := dialRaw(t, c)
		conn.says(cut)
		conn.Close()
		conn = dialRaw(t, c)
		conn.says(cut)
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if code := conn.status(); code == 200 {
			t.Errorf("%q was carried out", cut)
		}
	}
	for text, want := range map[string]int{
		"hello\r\n\r\n": 400,
		"GET /v1/status HTTP/9.9\r\nHost: mux\r\n\r\n":                                                         505,
		paste + "Content-Length: -1\r\n\r\n":                                                                   400,
		paste + "Content-Length: 1099511627776\r\n\r\n":                                                        413,
		paste + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n":                                                    400,
		"GET /" + strings.Repeat("x", 2*endpoint.MaxHeader) + "\r\n\r\n":                                       431,
		"GET /v1/status HTTP/1.1\r\nHost: mux\r\nX: " + strings.Repeat("x", 2*endpoint.MaxHeader) + "\r\n\r\n": 431,
		fmt.Sprintf(getEvents, "?after="+strings.Repeat("x", 4096)):                                            400,
	} {
		conn := dialRaw(t, c)
		conn.says(text)
		if code := conn.status(); code != want {
			t.Errorf("%.60q: status %d, want %d", text, code, want)
		}
	}
	if got := screenText(t, c, "h"); got != "" {
		t.Errorf("something was typed: %q", got)
	}
}

// postTo returns a request to a session.
func postTo(session, what, body string) string {
	return fmt.Sprintf("POST /v1/sessions/%s/%s HTTP/1.1\r\nHost: mux\r\nContent-Length: %d\r\n\r\n%s", session, what, len(body), body)
}

// TestConnectionCarriesRequests: one after the other, even after errors.
func TestConnectionCarriesRequests(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "n", "exec cat")
	conn := dialRaw(t, c)
	for _, step := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/v1/status", "", 200},
		{"HEAD", "/v1/status", "", 200},
		{"POST", "/v1/peek", `{"requests":7}`, 400},
		{"POST", "/v1/sessions/none/peek", "", 404},
		{"GET", "/v1/none", "", 404},
		{"POST", "/v1/sessions/n/peek", "{}", 200},
	} {
		conn.says(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: mux\r\nContent-Length: %d\r\n\r\n%s", step.method, step.path, len(step.body), step.body))
		resp, err := http.ReadResponse(conn.r, &http.Request{Method: step.method})
		if err != nil {
			t.Fatalf("%s %s: %v", step.method, step.path, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != step.want {
			t.Errorf("%s %s: %s, %v", step.method, step.path, resp.Status, err)
		}
	}
}

// TestWaitingClientsThatVanish: they leave nothing behind in the server.
func TestWaitingClientsThatVanish(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "n", "exec cat")
	before := openFiles(t, c)
	const body = `{"conditions":[{"exit":true}]}`
	var all []*rawConn
	for range 40 {
		conn := dialRaw(t, c)
		conn.says(postTo("n", "wait", body))
		all = append(all, conn)
	}
	awaitOpenFiles(t, c, func(n int) bool { return n >= before+len(all) })
	for _, conn := range all {
		conn.Close()
	}
	awaitOpenFiles(t, c, func(n int) bool { return n <= before+2 })
}

// TestServerEndsConnections: connections that are idle, wait for a reply or do
// not read theirs do not delay the server's end.
func TestServerEndsConnections(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "n", `p=$(printf '%0100d' 0); i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "$i $p"; done; echo written; exec cat`)
	await(t, c, "n", "^written")
	opened := openFiles(t, c)
	idle, waits, deaf := dialRaw(t, c), dialRaw(t, c), dialRaw(t, c)
	idle.says("GET /v1/nothing HTTP/1.1\r\nHost: mux\r\n\r\n")
	if code := idle.status(); code != 404 {
		t.Fatal(code)
	}
	if _, err := idle.r.Discard(len("404 page not found\n")); err != nil {
		t.Fatal(err)
	}
	waits.says(postTo("n", "wait", `{"conditions":[{"exit":true}]}`))
	deaf.says(postTo("n", "peek", `{"lines":30000}`))
	if code := deaf.status(); code != 200 {
		t.Fatal(code)
	}
	awaitOpenFiles(t, c, func(n int) bool { return n >= opened+3 }) // all are accepted
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Upgrade(t.Context(), exe, "newer"); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]*rawConn{"idle": idle, "waits": waits} {
		if b, err := conn.r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %q, %v after the end", name, b, err)
		}
	}
	if log, err := os.ReadFile(c.Paths().Log()); err != nil || bytes.Contains(log, []byte("still being carried out")) {
		t.Errorf("they held up the end: %s, %v", log, err)
	}
	if n, err := io.Copy(io.Discard, deaf); err != nil || n >= 20000*100 {
		t.Errorf("%d bytes more, %v", n, err)
	}
}
