package wire

import (
	"fmt"
	"io"
	"math"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Some lines are junk, some are messages, some are ignored.
func TestLines(t *testing.T) {
	const message = `{"jsonrpc":"2.0","method":"m"}`
	long := strings.Repeat("x", maxPrefix+1)
	for _, c := range []struct {
		name, line string
		message    bool
		junk       bool
	}{
		{"message", message, true, false},
		{"CRLF", message + "\r", true, false},
		{"blanks around", " \t" + message + "  ", true, false},
		{"BOM", "\xef\xbb\xbf" + message, true, false},
		{"no jsonrpc member", `{"method":"m"}`, true, false},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","method":"m"}`, true, false},
		{"unknown members", `{"jsonrpc":"2.0","method":"m","extra":[{}],"trace":1}`, true, false},
		{"OSC before a message", "\x1b]0;agent\x07" + message, true, false},
		{"log before a message", `[info] {time: 1} {"a":1}` + message, true, false},
		{"members in another order", `prefix {"params":{"a":{}},"method":"m","jsonrpc":"2.0"}`, true, false},

		{"empty", "", false, false},
		{"blank", " \t\r", false, false},

		{"text", "Loaded cached credentials.", false, true},
		{"number", "42", false, true},
		{"string", `"a json string"`, false, true},
		{"null", "null", false, true},
		{"array", "[1,2]", false, true},
		{"batch", "[" + message + "," + message + "]", false, true},
		{"object", "{}", false, true},
		{"log object with an id", `{"level":"info","id":1}`, false, true},
		{"log object with an error", `{"level":"info","id":1,"error":"timeout"}`, false, true},
		{"capital letters", `{"ID":1,"Result":2}`, false, true},
		{"id and null error", `{"jsonrpc":"2.0","id":1,"error":null}`, false, true},
		{"no id", `{"jsonrpc":"2.0","result":{}}`, false, true},
		{"null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`, false, true},
		{"method is no string", `{"jsonrpc":"2.0","method":7}`, false, true},
		{"empty method", `{"jsonrpc":"2.0","method":""}`, false, true},
		{"cut off", `{"jsonrpc":"2.0","method":"m"`, false, true},
		{"message inside a log object", `{"msg":` + message + `}`, false, true},
		{"message inside a string", `"sent: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}"`, false, true},
		{"text after a message", message + " done", false, true},
		{"prefix without jsonrpc", `log {"method":"m"}`, false, true},
		{"very long prefix", long + message, false, true},
		{"many braces before", strings.Repeat("{", maxAttempt) + message, false, true},
		{"depth", `{"jsonrpc":"2.0","method":"m","params":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, false, true},
		{"escape sequences", "\x1b[2J\x1b[H", false, true},
		{"not UTF-8", "\xff\xfe{", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := connect(t, Options{})
			open := p.call("open", nil)
			p.say(c.line, `{"jsonrpc":"2.0","method":"end"}`)
			m := p.next()
			if got := m.Method == "m"; got != c.message {
				t.Errorf("message: %t, want %t: %+v", got, c.message, m)
			}
			if m.Method != "end" {
				m = p.next()
			}
			if m.Method != "end" {
				t.Errorf("got %+v, want the next line's message", m)
			}
			want := 0
			if c.junk {
				want = 1
			}
			if got := p.conn.Junk(); got != int64(want) || len(p.junk) != want {
				t.Errorf("%d junk lines, %q, want %d", got, p.junk, want)
			}
			if !p.conn.Forget(open) {
				t.Error("the line answered a call")
			}
		})
	}
}

func TestAnswersOfOddForms(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":1,"result":{}}`:                                        `{} <nil>`,
		`{"jsonrpc":"2.0","id":1,"result":null}`:                      `null <nil>`,
		`{"jsonrpc":"2.0","id":1,"result":[],"error":null}`:           `[] <nil>`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}}`: ` m`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":400}}`:               ` error 400`,
		`{"jsonrpc":"2.0","id":1,"error":{}}`:                         ` error 0`,
		`{"jsonrpc":"2.0","id":1,"error":{"message":{"a":1}}}`:        ` {"a":1}`,
		`{"jsonrpc":"2.0","id":1,"result":1,"error":{"message":"m"}}`: ` m`,
		"\x1b]0;x\x07" + `{"jsonrpc":"2.0","id":1,"result":2}`:        `2 <nil>`,
	} {
		p := connect(t, Options{})
		p.call("a", nil)
		p.say(line)
		m := p.next()
		got := string(m.Result) + " <nil>"
		if m.Err != nil {
			got = string(m.Result) + " " + m.Err.Error()
		}
		if m.Kind != Response || m.Call != 1 || got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestLineAtTheEndOfOutput(t *testing.T) {
	p := connect(t, Options{})
	if _, err := io.WriteString(p.out, `{"jsonrpc":"2.0","method":"last"}`); err != nil {
		t.Fatal(err)
	}
	p.out.Close()
	if m := p.next(); m.Method != "last" {
		t.Errorf("got %+v", m)
	}
	if m, ok := <-p.conn.Messages(); ok {
		t.Errorf("got %+v after the end", m)
	}
}

// A line that is too long is skipped. A call that it answers fails, a request that it
// makes is refused.
func TestLineThatIsTooLong(t *testing.T) {
	pad := strings.Repeat("x", 300<<10)
	for _, c := range []struct{ name, line, failed, refused string }{
		{"update", `{"jsonrpc":"2.0","method":"u","params":"` + pad + `"}`, "", ""},
		{"answer", `{"jsonrpc":"2.0","id":1,"result":"` + pad + `"}`, "1", ""},
		{"answer with a long error", `{"id":1,"jsonrpc":"2.0","error":{"message":"` + pad + `"}}`, "1", ""},
		{"answer to nobody", `{"jsonrpc":"2.0","id":5,"result":"` + pad + `"}`, "", ""},
		{"request of the same id", `{"jsonrpc":"2.0","id":1,"method":"write","params":"` + pad + `"}`, "", "1"},
		{"request", `{"jsonrpc":"2.0","method":"write","id":"w","params":"` + pad + `"}`, "", `"w"`},
		{"id at the end", `{"jsonrpc":"2.0","result":"` + pad + `","id":1}`, "", ""},
		{"id in a nested object", `{"jsonrpc":"2.0","result":{"id":1,"x":"` + pad + `"}}`, "", ""},
		{"text", pad, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := connect(t, Options{MaxLine: 128 << 10})
			p.call("open", nil)
			p.heard()
			go p.say(c.line, `{"jsonrpc":"2.0","method":"end"}`)
			m := p.next()
			if c.failed != "" {
				if m.Kind != Response || fmt.Sprint(m.Call) != c.failed || m.Err == nil {
					t.Fatalf("got %+v, want call %s to fail", m, c.failed)
				}
				m = p.next()
			}
			if m.Method != "end" {
				t.Fatalf("got %+v, want the next line's message", m)
			}
			if c.refused != "" {
				if got, want := p.heard(), `{"jsonrpc":"2.0","id":`+c.refused+`,"error":{"code":-32600,"message":"the message is too long"}}`; got != want {
					t.Errorf("wrote %s, want %s", got, want)
				}
			}
			if p.conn.Junk() != 1 || len(p.junk[0]) > headSize {
				t.Errorf("%d junk lines; the first has %d bytes", p.conn.Junk(), len(p.junk[0]))
			}
		})
	}
}

// source is a line of n bytes and a message after it, made as they are read.
type source struct {
	n    int
	rest *strings.Reader
	peak uint64 // of the heap
}

func (s *source) Read(p []byte) (int, error) {
	if s.n == 0 {
		return s.rest.Read(p)
	}
	if s.n%(8<<20) < len(p) {
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		s.peak = max(s.peak, m.HeapAlloc)
	}
	n := min(len(p), s.n)
	for i := range p[:n] {
		p[i] = 'x'
	}
	s.n -= n
	return n, nil
}

func (s *source) Close() error { return nil }

type sink struct{ io.Writer }

func (sink) Close() error { return nil }

// A line of 80 MiB takes no more memory than the limit, and releases it.
func TestMemoryOfALineThatIsTooLong(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // HeapAlloc is close to what is used
	debug.FreeOSMemory()
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	s := &source{n: 80 << 20, rest: strings.NewReader("\n" + `{"jsonrpc":"2.0","method":"end"}` + "\n")}
	c := New(s, sink{io.Discard}, Options{})
	defer c.Close()
	m := <-c.Messages()
	if m.Method != "end" || c.Junk() != 1 {
		t.Fatalf("got %+v and %d junk lines", m, c.Junk())
	}
	goruntime.ReadMemStats(&after)
	t.Logf("heap: %d KiB before, %d at the peak, %d after", before.HeapAlloc>>10, s.peak>>10, after.HeapAlloc>>10)
	if grown := s.peak - before.HeapAlloc; grown > DefaultMaxLine+DefaultMaxLine/4 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if after.HeapAlloc > before.HeapAlloc+2<<20 {
		t.Errorf("%d MiB are still in use", (after.HeapAlloc-before.HeapAlloc)>>20)
	}
	if kept := after.HeapSys - after.HeapReleased; kept > before.HeapSys-before.HeapReleased+8<<20 {
		t.Errorf("%d MiB of the heap are kept from the system", kept>>20)
	}
}

// A long line that is allowed arrives whole.
func TestLongLine(t *testing.T) {
	p := connect(t, Options{})
	text := strings.Repeat("0123456789", 600<<10)
	go p.say(`{"jsonrpc":"2.0","method":"m","params":"`+text+`"}`, `{"jsonrpc":"2.0","method":"end"}`)
	if m := p.next(); string(m.Params) != `"`+text+`"` {
		t.Errorf("got %d bytes, want %d", len(m.Params), len(text)+2)
	}
	if m := p.next(); m.Method != "end" {
		t.Errorf("got %+v", m)
	}
}

// FuzzLines compares the reader with a split of the whole input, whatever pieces the
// input comes in.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\nccc"), uint16(3), uint8(1))
	f.Add([]byte(strings.Repeat("x", 70000)+"\n{}\n"), uint16(65535), uint8(255))
	f.Fuzz(func(t *testing.T, input []byte, limit uint16, piece uint8) {
		max := int(limit) + 1
		in := newLines(&pieces{input, int(piece)*400 + 1}, max)
		for _, want := range slices.Collect(strings.Lines(string(input))) {
			line, long, err := in.next()
			if err != nil {
				t.Fatalf("%v before %q", err, want)
			}
			if long != (len(want) > max) {
				t.Fatalf("long is %t for a line of %d bytes, at most %d", long, len(want), max)
			}
			if long {
				want = want[:min(len(want), headSize)]
			}
			if string(line) != want {
				t.Fatalf("read %q, want %q", line, want)
			}
		}
		if line, _, err := in.next(); err != io.EOF {
			t.Fatalf("read %q, %v at the end", line, err)
		}
	})
}

// pieces reads at most n bytes at a time.
type pieces struct {
	left []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.n)], p.left)
	p.left = p.left[n:]
	return n, nil
}

// FuzzParse looks for a line that makes the reader fail, or for a message that is not
// one.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`x{"jsonrpc":"2.0","method":"m","id":null}`))
	f.Add([]byte(`{"id":1,"error":{"code":1e99,"message":null}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, ok := parse(trim(line))
		parseHead(line)
		switch {
		case !ok:
		case m.Kind == Response && (m.Call < 0 || (m.Err == nil) == (m.Result == nil)):
			t.Errorf("%q: %+v", line, m)
		case m.Kind == Request && m.ID == nil, m.Kind != Response && m.Method == "":
			t.Errorf("%q: %+v", line, m)
		}
		if callID([]byte(fmt.Sprint(math.MaxInt64))) != math.MaxInt64 {
			t.Error("the greatest id is none")
		}
	})
}
