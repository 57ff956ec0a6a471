package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// peer is the agent's side of a connection over two pipes.
type peer struct {
	t    *testing.T
	conn *Conn
	in   *bufio.Reader // the connection's output
	raw  *os.File      // of in
	out  *os.File      // the connection's input

	mu   sync.Mutex
	junk []string
}

func connect(t *testing.T, opts Options) *peer {
	t.Helper()
	agentIn, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r, agentOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, in: bufio.NewReader(agentIn), raw: agentIn, out: agentOut}
	opts.Junk = func(line []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.junk = append(p.junk, string(line))
	}
	p.conn = New(r, w, opts)
	t.Cleanup(func() {
		p.conn.Close()
		agentIn.Close()
		agentOut.Close()
	})
	return p
}

// say writes lines as the agent, on any goroutine.
func (p *peer) say(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.out, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Error(err)
	}
}

// heard returns the next line that the connection wrote.
func (p *peer) heard() string {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// next returns the next message.
func (p *peer) next() Message {
	p.t.Helper()
	select {
	case m, ok := <-p.conn.Messages():
		if !ok {
			p.t.Fatalf("the connection ended: %v", p.conn.Err())
		}
		return m
	case <-time.After(20 * time.Second):
		p.t.Fatal("no message in 20 s")
	}
	panic("unreachable")
}

func (p *peer) call(method string, params any) int64 {
	p.t.Helper()
	id, err := p.conn.Call(method, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); goruntime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("not so after 20 s: " + what)
		}
	}
}

func TestBothDirections(t *testing.T) {
	p := connect(t, Options{})
	first := p.call("initialize", map[string]any{"protocolVersion": 1})
	second := p.call("x/ping", nil)
	if err := p.conn.Notify("session/cancel", map[string]string{"sessionId": "s"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","id":2,"method":"x/ping"}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`,
	} {
		if got := p.heard(); got != want {
			t.Errorf("wrote %s, want %s", got, want)
		}
	}
	p.say(
		`{"jsonrpc":"2.0","id":2,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no key","data":{"details":"x"}}}`,
	)
	if m := p.next(); m.Kind != Response || m.Call != second || string(m.Result) != "null" || m.Err != nil {
		t.Errorf("got %+v, want the result null of call %d", m, second)
	}
	m := p.next()
	if m.Call != first || m.Err == nil || m.Err.Code != -32000 || m.Err.Message != "no key" || string(m.Err.Data) != `{"details":"x"}` {
		t.Errorf("got %+v, want the error of call %d", m, first)
	}
}

// An agent's ids are any JSON: the answer has the very bytes.
func TestIDsAreEchoedByteForByte(t *testing.T) {
	p := connect(t, Options{})
	for _, id := range []string{`0`, `-1`, `1.0`, `1e3`, `9007199254740993`, `"perm-1"`, `"<&>\u00e9"`, `null`, `[1, 2]`, `{"a": "b"}`, `true`} {
		p.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"ask","params":[1]}`)
		m := p.next()
		if m.Kind != Request || m.Method != "ask" || string(m.Params) != "[1]" || string(m.ID) != id {
			t.Errorf("id %s: got %+v", id, m)
		}
		if err := p.conn.Reply(m.ID, nil); err != nil {
			t.Fatal(err)
		}
		if got, want := p.heard(), `{"jsonrpc":"2.0","id":`+id+`,"result":null}`; got != want {
			t.Errorf("wrote %s, want %s", got, want)
		}
		if err := p.conn.ReplyError(m.ID, CodeMethodNotFound, "no such method"); err != nil {
			t.Fatal(err)
		}
		if got, want := p.heard(), `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32601,"message":"no such method"}}`; got != want {
			t.Errorf("wrote %s, want %s", got, want)
		}
	}
}

func TestAnswersThatNobodyWaitsForAreIgnored(t *testing.T) {
	p := connect(t, Options{})
	id := p.call("a", nil)
	given := p.call("b", nil)
	if !p.conn.Forget(given) || p.conn.Forget(given) {
		t.Error("Forget must report an open call once")
	}
	p.say(
		`{"jsonrpc":"2.0","id":77,"result":{}}`,
		`{"jsonrpc":"2.0","id":"1","result":{}}`,
		`{"jsonrpc":"2.0","id":1.0,"result":{}}`,
		`{"jsonrpc":"2.0","id":0,"result":{}}`,
		`{"jsonrpc":"2.0","id":-1,"error":{"code":1,"message":"x"}}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"too late"}`, given),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"first"}`, id),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"second"}`, id),
		`{"jsonrpc":"2.0","method":"end"}`,
	)
	if m := p.next(); m.Call != id || string(m.Result) != `"first"` {
		t.Errorf("got %+v, want the first answer", m)
	}
	if m := p.next(); m.Method != "end" {
		t.Errorf("got %+v, want no second answer", m)
	}
	if p.conn.Junk() != 0 {
		t.Errorf("%d lines were junk: %q", p.conn.Junk(), p.junk)
	}
}

// Updates, questions and answers come in the order of the agent.
func TestNothingOvertakes(t *testing.T) {
	const n = 500
	p := connect(t, Options{})
	go func() {
		for i := range n {
			line, _ := p.in.ReadString('\n')
			var call struct{ ID int64 }
			_ = json.Unmarshal([]byte(line), &call)
			p.say(
				fmt.Sprintf(`{"jsonrpc":"2.0","method":"update","params":%d}`, i),
				fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"ask"}`, i),
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%d}`, call.ID, i),
			)
		}
	}()
	for i := range n {
		id := p.call("turn", nil)
		if m := p.next(); m.Method != "update" || string(m.Params) != fmt.Sprint(i) {
			t.Fatalf("turn %d: got %+v, want its update", i, m)
		}
		if m := p.next(); m.Kind != Request || string(m.ID) != fmt.Sprintf(`"q%d"`, i) {
			t.Fatalf("turn %d: got %+v, want its question", i, m)
		}
		if m := p.next(); m.Kind != Response || m.Call != id {
			t.Fatalf("turn %d: got %+v, want its answer", i, m)
		}
	}
}

// What a load's replay sends at once arrives whole and soon, in order.
func TestBurst(t *testing.T) {
	const n = 20000
	p := connect(t, Options{})
	begin := time.Now()
	go func() {
		w := bufio.NewWriter(p.out)
		for i := range n {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"00000000-0000-4000-8000-000000000001","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"word%d "}}}}`+"\n", i)
		}
		w.Flush()
	}()
	for i := range n {
		if m := p.next(); !strings.Contains(string(m.Params), fmt.Sprintf(`"word%d "`, i)) {
			t.Fatalf("message %d is %s", i, m.Params)
		}
	}
	took := time.Since(begin)
	t.Logf("%d messages in %v", n, took)
	if limit := time.Second * slow; took > limit {
		t.Errorf("%d messages took %v, want at most %v", n, took, limit)
	}
}

// An owner that does not read holds up the agent, and nothing is lost.
func TestOwnerThatDoesNotReadHoldsUpTheAgent(t *testing.T) {
	const n = 2000
	p := connect(t, Options{})
	line := `{"jsonrpc":"2.0","method":"m","params":"` + strings.Repeat("x", 1000) + `"}`
	written := make(chan int, n)
	go func() {
		for i := range n {
			p.say(line)
			written <- i
		}
		close(written)
	}()
	p.next() // the pipe holds 64 KiB, the reader as much
	if count := len(written); count > 400 {
		t.Errorf("the agent wrote %d messages that nobody had taken", count)
	}
	for range n - 1 {
		p.next()
	}
}

// An agent that stops reading its input blocks no caller.
func TestAgentThatDoesNotRead(t *testing.T) {
	p := connect(t, Options{MaxQueue: 1 << 20})
	text := strings.Repeat("x", 100<<10)
	var last int64
	var err error
	for range 100 {
		var id int64
		if id, err = p.conn.Call("prompt", text); err != nil {
			break
		}
		last = id
	}
	if !errors.Is(err, ErrFull) {
		t.Fatalf("sending to an agent that does not read: %v, want ErrFull", err)
	}
	if last < 8 {
		t.Errorf("only %d messages fitted", last)
	}
	if p.conn.Written(last) {
		t.Error("a message that is queued counts as written")
	}
	p.say(`{"jsonrpc":"2.0","method":"still here"}`)
	if m := p.next(); m.Method != "still here" {
		t.Errorf("got %+v", m)
	}
	messages, bytes := p.conn.Queued()
	if messages == 0 || bytes > 1<<20 {
		t.Errorf("%d messages of %d bytes wait", messages, bytes)
	}
	go io.Copy(io.Discard, p.raw)
	eventually(t, "everything is written", func() bool {
		n, _ := p.conn.Queued()
		return n == 0 && p.conn.Written(last)
	})
	if _, err := p.conn.Call("prompt", text); err != nil {
		t.Errorf("after the agent has read: %v", err)
	}
}

func TestUnread(t *testing.T) {
	p := connect(t, Options{})
	id := p.call("prompt", "hello")
	eventually(t, "the call is written", func() bool { return p.conn.Written(id) })
	want := len(`{"jsonrpc":"2.0","id":1,"method":"prompt","params":"hello"}`) + 1
	n, err := p.conn.Unread()
	if goruntime.GOOS != "linux" {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Unread: %v, want ErrUnsupported", err)
		}
		return
	}
	if n != want || err != nil {
		t.Errorf("Unread: %d, %v, want %d", n, err, want)
	}
	p.heard()
	if n, err := p.conn.Unread(); n != 0 || err != nil {
		t.Errorf("Unread after the agent has read: %d, %v", n, err)
	}
	p.conn.Close()
	if _, err := p.conn.Unread(); err == nil {
		t.Error("Unread of a closed connection gives no error")
	}
}

func TestUnreadNeedsAFile(t *testing.T) {
	r, _ := io.Pipe()
	_, w := io.Pipe()
	c := New(r, w, Options{})
	defer c.Close()
	if _, err := c.Unread(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Unread: %v, want ErrUnsupported", err)
	}
}

func TestCloseWriteWritesWhatIsQueued(t *testing.T) {
	p := connect(t, Options{})
	p.call("a", strings.Repeat("x", 200<<10))
	if err := p.conn.Notify("close", nil); err != nil {
		t.Fatal(err)
	}
	p.conn.CloseWrite()
	if err := p.conn.Notify("late", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("sending after CloseWrite: %v, want ErrClosed", err)
	}
	all, err := io.ReadAll(p.in)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(all), "{\"jsonrpc\":\"2.0\",\"method\":\"close\"}\n") {
		t.Errorf("the agent read %d bytes without the last message", len(all))
	}
	p.say(`{"jsonrpc":"2.0","method":"bye"}`)
	if m := p.next(); m.Method != "bye" {
		t.Errorf("got %+v", m)
	}
	p.out.Close()
	if m, ok := <-p.conn.Messages(); ok {
		t.Errorf("got %+v after the end", m)
	}
	if err := p.conn.Err(); err != nil {
		t.Errorf("Err after the agent's end: %v", err)
	}
}

// Close ends a read, a write and a delivery that block.
func TestCloseEndsWhatBlocks(t *testing.T) {
	p := connect(t, Options{})
	p.call("a", strings.Repeat("x", 1<<20)) // more than a pipe holds
	p.say(`{"jsonrpc":"2.0","method":"nobody reads this"}`)
	p.conn.Close()
	p.conn.Close()
	for range p.conn.Messages() {
	}
	if _, err := p.conn.Call("b", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Call after Close: %v, want ErrClosed", err)
	}
}

func TestAgentThatClosesItsInput(t *testing.T) {
	p := connect(t, Options{})
	p.raw.Close()
	eventually(t, "sending fails", func() bool { return p.conn.Notify("x", nil) != nil })
	p.say(`{"jsonrpc":"2.0","method":"last words"}`)
	if m := p.next(); m.Method != "last words" {
		t.Errorf("got %+v", m)
	}
}

func TestRecord(t *testing.T) {
	var mu sync.Mutex
	var got []string
	p := connect(t, Options{Record: func(fromAgent bool, line []byte) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(fromAgent, " ", string(line)))
	}})
	p.call("a", nil)
	p.heard()
	p.say("junk", `{"jsonrpc":"2.0","id":1,"result":1}`+"\r")
	p.next()
	mu.Lock()
	defer mu.Unlock()
	want := []string{`false {"jsonrpc":"2.0","id":1,"method":"a"}`, `true {"jsonrpc":"2.0","id":1,"result":1}`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}
