package web

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/internal/web/access"
)

// client is a page without a browser.
type client struct {
	t              *testing.T
	base           string
	keys           *access.Keys
	cookie, secret string
}

func start(t *testing.T, f fleet.Fleet) *client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := access.Open(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Fleet: f, Gate: &access.Gate{Keys: keys}, Version: "test"}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &client{t: t, base: "http://" + l.Addr().String(), keys: keys}
}

func (c *client) login(readOnly bool) *client {
	c.t.Helper()
	token, err := c.keys.NewToken(readOnly)
	if err != nil {
		c.t.Fatal(err)
	}
	resp := c.do("POST", "/login", fmt.Sprintf(`{"token":%q}`, token))
	var body struct{ Secret string }
	if err := json.Unmarshal([]byte(resp.text), &body); err != nil {
		c.t.Fatal(resp.status, resp.text)
	}
	n := *c
	n.secret = body.Secret
	n.cookie, _, _ = strings.Cut(resp.header.Get("Set-Cookie"), ";")
	return &n
}

type response struct {
	status int
	text   string
	header http.Header
}

func (c *client) do(method, path, body string) response {
	c.t.Helper()
	r, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Origin", c.base)
	r.Header.Set("Cookie", c.cookie)
	r.Header.Set(access.SecretHeader, c.secret)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response{resp.StatusCode, string(text), resp.Header}
}

// dial opens the WebSocket with headers, and sends the first message.
func (c *client) dial(origin, secret string) (*websocket.Conn, error) {
	h := http.Header{"Cookie": {c.cookie}}
	if origin != "" {
		h.Set("Origin", origin)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, strings.Replace(c.base, "http", "ws", 1)+"/live", &websocket.DialOptions{HTTPHeader: h})
	if err != nil {
		return nil, err
	}
	c.t.Cleanup(func() { ws.CloseNow() })
	ws.SetReadLimit(8 << 20)
	return ws, ws.Write(ctx, websocket.MessageText, []byte(fmt.Sprintf(`{"secret":%q}`, secret)))
}

// live is an open page.
type livePage struct {
	t  *testing.T
	ws *websocket.Conn
}

func (c *client) live() *livePage {
	c.t.Helper()
	ws, err := c.dial(c.base, c.secret)
	if err != nil {
		c.t.Fatal(err)
	}
	p := &livePage{c.t, ws}
	p.next("welcome")
	return p
}

func (p *livePage) send(format string, args ...any) {
	p.t.Helper()
	if err := p.ws.Write(context.Background(), websocket.MessageText, []byte(fmt.Sprintf(format, args...))); err != nil {
		p.t.Fatal(err)
	}
}

// next returns the next message of a kind; "binary" for the bytes of terminals.
func (p *livePage) next(op string) map[string]any {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		kind, data, err := p.ws.Read(ctx)
		if err != nil {
			p.t.Fatalf("waiting for %s: %v", op, err)
		}
		if kind == websocket.MessageBinary {
			if op == "binary" {
				return map[string]any{"n": binary.BigEndian.Uint32(data), "data": string(data[4:])}
			}
			continue
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			p.t.Fatal(err)
		}
		if m["op"] == op {
			return m
		}
	}
}

// code calls a method and returns the error's code; "" without one.
func (p *livePage) code(method, params string) string {
	p.t.Helper()
	p.send(`{"op":"call","n":1,"method":%q,"params":%s}`, method, params)
	m := p.next("result")
	if e, ok := m["error"].(map[string]any); ok {
		return e["code"].(string)
	}
	return ""
}

func fleetOf(names ...string) *fleetfake.Fleet {
	f := &fleetfake.Fleet{Receipt: fleet.Receipt{State: fleet.Submitted}}
	var s fleet.Snapshot
	for _, n := range names {
		s.Agents = append(s.Agents, fleet.Agent{ID: n, Name: n, State: "running"})
	}
	f.Set(s)
	return f
}

func TestOnlyTheLoginPageWithoutASession(t *testing.T) {
	c := start(t, fleetOf("coder"))
	if r := c.do("GET", "/", ""); r.status != http.StatusOK || !strings.Contains(r.text, "login.js") {
		t.Errorf("the first page: %d %s", r.status, r.text)
	}
	for path, want := range map[string]int{
		"/public/login.js": 200, "/public/base.css": 200, "/app/main.js": 401, "/vendor/xterm.mjs": 401, "/app/index.html": 401, "/recording?id=coder": 401,
		"/live": 401, "/metrics": 404, "/v1/city": 404, "/public/..%2fapp%2fmain.js": 404, "/vendor/fetch.sh": 401,
	} {
		if r := c.do("GET", path, ""); r.status != want {
			t.Errorf("%s: status %d, want %d", path, r.status, want)
		}
	}
	in := c.login(false)
	for path, want := range map[string]int{"/app/main.js": 200, "/vendor/xterm.mjs": 200, "/vendor/fetch.sh": 404, "/vendor/PINS": 404} {
		if r := in.do("GET", path, ""); r.status != want {
			t.Errorf("%s: status %d, want %d", path, r.status, want)
		}
	}
	if r := in.do("GET", "/", ""); !strings.Contains(r.text, "main.js") || !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
		t.Errorf("the page: %v", r)
	}
}

func TestWebSocketOfOthersIsRejected(t *testing.T) {
	in := start(t, fleetOf("coder")).login(false)
	in.live()
	for _, origin := range []string{"", "http://evil.example", "http://127.0.0.1:1", "null"} {
		if _, err := in.dial(origin, in.secret); err == nil {
			t.Errorf("origin %q: the WebSocket opened", origin)
		}
	}
	for _, secret := range []string{"", "wrong"} {
		ws, err := in.dial(in.base, secret)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = ws.Read(context.Background())
		if websocket.CloseStatus(err) != statusNoSession {
			t.Errorf("secret %q: %v", secret, err)
		}
	}
	stranger := *in
	stranger.cookie = ""
	if _, err := stranger.dial(in.base, in.secret); err == nil {
		t.Error("the WebSocket opened without a cookie")
	}
}

func TestReadOnlyPageTouchesNothing(t *testing.T) {
	f := fleetOf("coder")
	typed := make(chan string, 10)
	f.Attached = func(_ string, o fleet.AttachOptions, conn io.ReadWriteCloser) {
		fmt.Fprintf(conn, "readonly=%v", o.ReadOnly)
		data, _ := io.ReadAll(conn)
		typed <- string(data)
	}
	p := start(t, f).login(true).live()
	for _, call := range []string{
		`nudge {"id":"coder","text":"x"}`, `queue {"id":"coder","text":"x"}`, `answer {"id":"coder","answer":{"request":"1","option":"Yes"}}`,
		`do {"id":"coder","action":"stop"}`, `cancel {"message":"m"}`, `retry {"message":"m"}`, `link {}`,
	} {
		method, params, _ := strings.Cut(call, " ")
		if code := p.code(method, params); code != "read_only" {
			t.Errorf("%s: code %q", method, code)
		}
	}
	p.send(`{"op":"attach","n":7,"id":"coder","cols":80,"rows":24,"take":true}`)
	if m := p.next("end"); m["code"] != "read_only" {
		t.Errorf("taking control: %v", m)
	}
	p.send(`{"op":"attach","n":8,"id":"coder","cols":80,"rows":24}`)
	if m := p.next("binary"); m["data"] != "readonly=true" {
		t.Errorf("looking: %v", m)
	}
	p.ws.Write(context.Background(), websocket.MessageBinary, append([]byte{0, 0, 0, 8}, "rm -rf /\r"...))
	p.send(`{"op":"close","n":8}`)
	if got := <-typed; got != "" {
		t.Errorf("a read-only page typed %q", got)
	}
	if done := f.Done(); len(done) > 0 {
		t.Errorf("a read-only page did %q", done)
	}
}

func TestRevokedPageEnds(t *testing.T) {
	in := start(t, fleetOf("coder")).login(false)
	p := in.live()
	if n, err := in.keys.Revoke(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for {
		_, _, err := p.ws.Read(context.Background())
		if err != nil {
			if websocket.CloseStatus(err) != statusNoSession {
				t.Error(err)
			}
			break
		}
	}
	if r := in.do("GET", "/app/main.js", ""); r.status != http.StatusUnauthorized {
		t.Errorf("a revoked browser got a file: %d", r.status)
	}
}

// TestPageEndsWithItsSession: a page that is open when its session ends by age is closed.
func TestPageEndsWithItsSession(t *testing.T) {
	t.Parallel()
	in := start(t, fleetOf("coder")).login(false)
	data, err := os.ReadFile(in.keys.Path())
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string][]map[string]any
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	kept["sessions"][0]["made"] = time.Now().Add(4*time.Second - 30*24*time.Hour)
	if data, err = json.Marshal(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in.keys.Path(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	p := in.live()
	for {
		if _, _, err := p.ws.Read(context.Background()); err != nil {
			if websocket.CloseStatus(err) != statusNoSession {
				t.Error(err)
			}
			return
		}
	}
}

func TestOnlyChangedAgentsAreSent(t *testing.T) {
	f := fleetOf("a", "b", "c")
	p := start(t, f).login(false).live()
	if m := p.next("fleet"); len(m["agents"].([]any)) != 3 || len(m["order"].([]any)) != 3 {
		t.Errorf("first: %v", m)
	}
	f.Set(fleet.Snapshot{Agents: []fleet.Agent{{ID: "a", Name: "a", State: "running"}, {ID: "b", Name: "b", State: "crashed"}, {ID: "c", Name: "c", State: "running"}}})
	if m := p.next("fleet"); len(m["agents"].([]any)) != 1 || m["order"] != nil {
		t.Errorf("after a change: %v", m)
	}
	f.Set(fleet.Snapshot{})
	if m := p.next("fleet"); m["agents"] != nil {
		t.Errorf("after their end: %v", m)
	}
}

func TestSlowPageGetsNoBacklog(t *testing.T) {
	f := fleetOf("coder")
	sent := make(chan int, 1)
	f.Attached = func(_ string, _ fleet.AttachOptions, conn io.ReadWriteCloser) {
		n, chunk := 0, strings.Repeat("x", 16<<10)
		for range 1000 {
			if _, err := io.WriteString(conn, chunk); err != nil {
				break
			}
			if n += len(chunk); n == window {
				sent <- n
			}
		}
		if n > window+2*(32<<10) {
			t.Errorf("%d bytes went to a page that acknowledged none", n)
		}
	}
	p := start(t, f).login(false).live()
	p.send(`{"op":"attach","n":1,"id":"coder","cols":80,"rows":24}`)
	<-sent
	if code := p.code("explain", `{"id":"coder"}`); code != "" { // the rest of the page goes on
		t.Errorf("explain: %s", code)
	}
	p.send(`{"op":"close","n":1}`)
	p.next("end")
}

func TestRefusedAnswerSaysThatTheQuestionChanged(t *testing.T) {
	f := fleetOf("coder")
	f.AnswerErr = fleet.ErrChanged
	p := start(t, f).login(false).live()
	if code := p.code("answer", `{"id":"coder","answer":{"request":"1","option":"Yes"}}`); code != "changed" {
		t.Errorf("code %q", code)
	}
	if code := p.code("nonsense", `{}`); code != "unsupported" {
		t.Errorf("code %q", code)
	}
	if code := p.code("nudge", `{"id":"coder","text":"hello"}`); code != "" || len(f.Done()) != 1 {
		t.Errorf("code %q, done %q", code, f.Done())
	}
}

func TestAddressesThatOthersReachNeedTLS(t *testing.T) {
	for _, c := range []struct {
		o  Options
		ok bool
	}{
		{Options{}, true}, {Options{Listen: "localhost:1"}, true}, {Options{Listen: "[::1]:1"}, true}, {Options{Listen: "0.0.0.0:1"}, false},
		{Options{Listen: ":1"}, false}, {Options{Listen: "192.0.2.1:1"}, false}, {Options{Listen: "192.0.2.1:1", Insecure: true}, true},
		{Options{Listen: "192.0.2.1:1", SelfSigned: true}, true}, {Options{Listen: "192.0.2.1:1", TLSCert: "c"}, false}, {Options{Listen: "nonsense"}, false},
		{Options{Unix: "/tmp/s"}, true}, {Options{Unix: "/tmp/s", Listen: "127.0.0.1:1"}, false},
	} {
		if err := c.o.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestPrivateSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	o := Options{Unix: path}
	l, err := o.listen()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if _, err := o.listen(); err == nil || !strings.Contains(err.Error(), "a server is listening there") {
		t.Errorf("a second server: %v", err)
	}
	l.Close() // as a server that was killed
	l, err = o.listen()
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := (Options{Unix: filepath.Join(path, "no", "such")}).listen(); err == nil {
		t.Error("a socket in no directory")
	}
}
