package mux

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Requests and replies of peeks are written and read here, not by
// encoding/json: asking a hundred sessions whether anything changed is what
// watchers do all day, and reflection was three quarters of it. What is written
// is plain JSON; what is read falls back to encoding/json at the first thing
// that is not in the common shape, so that both accept the same.

// rawJSON is a body that is JSON already.
type rawJSON []byte

// replies are buffers, *rawJSON, of replies that were sent.
var replies sync.Pool

// newReply returns room for a reply.
func newReply() rawJSON {
	if b, ok := replies.Get().(*rawJSON); ok {
		return (*b)[:0]
	}
	return make(rawJSON, 0, 4096)
}

// reuse gives the room back; the reply was sent.
func (b rawJSON) reuse() {
	if cap(b) <= maxAhead {
		replies.Put(&b)
	}
}

// appendRequest appends a request as JSON.
func appendRequest(b []byte, r *PeekRequest) ([]byte, error) {
	common := PeekRequest{
		Name: r.Name, Lines: r.Lines, Screen: r.Screen, Format: r.Format, Join: r.Join, IfRevision: r.IfRevision,
	}
	if *r != common {
		more, err := json.Marshal(r)
		return append(b, more...), err
	}
	b = append(b, `{"name":`...)
	b = appendString(b, r.Name)
	if r.Lines != 0 {
		b = strconv.AppendInt(append(b, `,"lines":`...), int64(r.Lines), 10)
	}
	if r.Screen {
		b = append(b, `,"screen":true`...)
	}
	if r.Format != "" {
		b = appendString(append(b, `,"format":`...), r.Format)
	}
	if r.Join {
		b = append(b, `,"join":true`...)
	}
	if r.IfRevision != 0 {
		b = strconv.AppendUint(append(b, `,"ifRevision":`...), r.IfRevision, 10)
	}
	return append(b, '}'), nil
}

// appendPeekResult appends a result as JSON.
func appendPeekResult(b []byte, r *PeekResult) ([]byte, error) {
	common := PeekResult{
		ID: r.ID, Name: r.Name, State: r.State, Revision: r.Revision, Unchanged: r.Unchanged, Text: r.Text,
	}
	if *r != common {
		more, err := json.Marshal(r)
		return append(b, more...), err
	}
	b = append(b, '{')
	if r.ID != "" {
		b = append(appendString(append(b, `"id":`...), r.ID), ',')
	}
	b = appendString(append(b, `"name":`...), r.Name)
	if r.State != "" {
		b = appendString(append(b, `,"state":`...), r.State)
	}
	b = strconv.AppendUint(append(b, `,"revision":`...), r.Revision, 10)
	if r.Unchanged {
		b = append(b, `,"unchanged":true`...)
	}
	if r.Text != "" {
		b = appendString(append(b, `,"text":`...), r.Text)
	}
	return append(b, '}'), nil
}

// appendRequests appends "requests":[…].
func appendRequests(b []byte, rs []PeekRequest) ([]byte, error) {
	b = append(b, `"requests":[`...)
	for i := range rs {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendRequest(b, &rs[i]); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendString appends a JSON string (RFC 8259, 7).
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		more, _ := json.Marshal(s) // a string never fails
		return append(b, more...)
	}
	b = append(b, '"')
	for {
		n := 0
		b, n = appendVerbatim(b, s)
		if n == len(s) {
			return append(b, '"')
		}
		b = appendEscape(b, s[n])
		s = s[n+1:]
	}
}

// appendEscape appends a byte that does not stand for itself.
func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\t':
		return append(b, '\\', 't')
	}
	return fmt.Appendf(b, `\u%04x`, c)
}

// appendVerbatim appends the bytes at the start of s that stand for themselves
// in a string, all but quote, backslash and controls, and returns their number.
func appendVerbatim(b []byte, s string) (to []byte, n int) {
	for ; n+8 <= len(s); n += 8 {
		w := s[n : n+8]
		v := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		b = binary.LittleEndian.AppendUint64(b, v)
		if m := special(v); m != 0 {
			k := bits.TrailingZeros64(m) / 8
			return b[:len(b)-8+k], n + k
		}
	}
	for n < len(s) && s[n] >= ' ' && s[n] != '"' && s[n] != '\\' {
		b = append(b, s[n])
		n++
	}
	return b, n
}

// special marks in the top bit of its byte the first byte of a word that does
// not stand for itself. A borrow spoils only bytes above that one.
func special(v uint64) uint64 {
	const one, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := v^'"'*one, v^'\\'*one
	return ((v-' '*one)&^v | (quote-one)&^quote | (slash-one)&^slash) & high
}

// reading is a position in JSON of a known shape. The first thing that does
// not fit makes bad true, and then nothing counts that was read. Strings are
// parts of s wherever they can be.
type reading struct {
	s   string
	i   int
	bad bool
	buf []byte // the string that is being read

	short, keep bool   // stood in front of the list
	watch       string // stood behind it, or in its place
}

// next skips white space and takes c, if it stands there.
func (r *reading) next(c byte) bool {
	for r.i < len(r.s) && (r.s[r.i] == ' ' || r.s[r.i] == '\n' || r.s[r.i] == '\t' || r.s[r.i] == '\r') {
		r.i++
	}
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *reading) must(c byte) {
	if !r.next(c) {
		r.bad = true
	}
}

// text reads a string. Escapes but those of a line's end, a tab, a quote and a
// backslash are left to encoding/json.
func (r *reading) text() (text string) {
	r.must('"')
	from := r.i
	r.buf = r.buf[:0]
	r.verbatim()
	if r.i < len(r.s) && r.s[r.i] == '"' {
		text = r.s[from:r.i]
	} else {
		for !r.bad && r.i < len(r.s) && r.s[r.i] != '"' {
			r.escape()
			r.verbatim()
		}
		text = string(r.buf)
	}
	r.must('"')
	r.bad = r.bad || !utf8.ValidString(text)
	return text
}

// verbatim takes the bytes of a string up to its end or the next escape.
func (r *reading) verbatim() {
	n := 0
	r.buf, n = appendVerbatim(r.buf, r.s[r.i:])
	r.i += n
}

// escape takes what the escape at the position stands for.
func (r *reading) escape() {
	if r.s[r.i] != '\\' || r.i+1 >= len(r.s) {
		r.bad = true
		return
	}
	c := r.s[r.i+1]
	r.i += 2
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case '"', '\\':
	default:
		r.bad = true
	}
	r.buf = append(r.buf, c)
}

// number reads an integer.
func (r *reading) number() string {
	r.next(' ')
	from := r.i
	for r.i < len(r.s) && (r.s[r.i] == '-' || r.s[r.i] >= '0' && r.s[r.i] <= '9') {
		r.i++
	}
	s := r.s[from:r.i]
	if len(s) > 1 && (s[0] == '0' || s[:2] == "-0") {
		r.bad = true
	}
	return s
}

func (r *reading) unsigned() uint64 {
	n, err := strconv.ParseUint(r.number(), 10, 64)
	r.bad = r.bad || err != nil
	return n
}

func (r *reading) integer() int {
	n, err := strconv.Atoi(r.number())
	r.bad = r.bad || err != nil
	return n
}

// yes reads true; false is not written.
func (r *reading) yes() bool {
	r.next(' ')
	if !strings.HasPrefix(r.s[r.i:], "true") {
		r.bad = true
		return false
	}
	r.i += len("true")
	return true
}

// more goes to the next part of an object or a list, which end with end; first
// is true for the first one. false: there is none.
func (r *reading) more(end byte, first bool) bool {
	switch {
	case r.bad:
		return false
	case first:
		return !r.next(end)
	case r.next(','):
		return true
	}
	r.must(end)
	return false
}

// key reads the name of an object's next field, and the colon; "" when there is
// none. A name with escapes is none that anybody knows.
func (r *reading) key(first bool) (key string) {
	if !r.more('}', first) {
		return ""
	}
	r.must('"')
	if n := strings.IndexByte(r.s[r.i:], '"'); n > 0 {
		key = r.s[r.i : r.i+n]
		r.i += n
	}
	r.must('"')
	r.must(':')
	if r.bad = r.bad || key == ""; r.bad {
		return ""
	}
	return key
}

// object reads an object; field reads the value of a key that it knows.
func (r *reading) object(field func(key string) (known bool)) {
	r.must('{')
	for key := r.key(true); key != ""; key = r.key(false) {
		if !field(key) {
			r.bad = true
		}
	}
}

// done reports whether everything fitted.
func (r *reading) done() bool {
	r.next(' ')
	return !r.bad && r.i == len(r.s)
}

func (r *reading) peekRequest() (q PeekRequest) {
	r.object(func(key string) (known bool) {
		switch key {
		case "name":
			q.Name = r.text()
		case "lines":
			q.Lines = r.integer()
		case "screen":
			q.Screen = r.yes()
		case "format":
			q.Format = r.text()
		case "join":
			q.Join = r.yes()
		case "ifRevision":
			q.IfRevision = r.unsigned()
		default:
			return false
		}
		return true
	})
	return q
}

// peekResult reads a result. One of a short reply may be an id: of a session that
// runs and is unchanged; its name and revision are those of the request.
func (r *reading) peekResult() (q PeekResult) {
	if strings.HasPrefix(r.s[r.i:], `"`) {
		return PeekResult{ID: r.text(), State: StateRunning, Unchanged: true}
	}
	r.object(func(key string) (known bool) {
		switch key {
		case "id":
			q.ID = r.text()
		case "name":
			q.Name = r.text()
		case "state":
			q.State = r.text()
		case "revision":
			q.Revision = r.unsigned()
		case "unchanged":
			q.Unchanged = r.yes()
		case "text":
			q.Text = r.text()
		default:
			return false
		}
		return true
	})
	return q
}

// each reads {"name":[…]}, where "short":true and "keep":true may stand in front
// of the list, and "watch":"…" behind it or in its place; one reads an element.
func (r *reading) each(name string, one func()) {
	r.must('{')
	key := r.key(true)
	for ; key == "short" || key == "keep"; key = r.key(false) {
		r.short = r.short || key == "short"
		r.keep = r.keep || key == "keep"
		r.yes()
	}
	if key == name {
		r.must('[')
		for first := true; r.more(']', first); first = false {
			one()
		}
		if key = r.key(false); key == "" {
			return
		}
	}
	if key != "watch" {
		r.bad = true
		return
	}
	r.watch = r.text()
	r.must('}')
}

// decodePeek reads one request or result.
func decodePeek[T any](b []byte, one func(*reading) T) (out T, err error) {
	r := &reading{s: string(b)}
	if out = one(r); r.done() {
		return out, nil
	}
	var again T
	err = json.Unmarshal(b, &again)
	return again, err
}

// peekList is the body of a request for many.
type peekList struct {
	Requests []PeekRequest `json:"requests"`
	Short    bool          `json:"short"`
	Keep     bool          `json:"keep"`
	Watch    string        `json:"watch"`
}

// decodeRequests reads one.
func decodeRequests(b []byte) (peekList, error) {
	r := &reading{s: string(b)}
	l := peekList{Requests: make([]PeekRequest, 0, len(b)/64)}
	r.each("requests", func() { l.Requests = append(l.Requests, r.peekRequest()) })
	if r.done() {
		l.Short, l.Keep, l.Watch = r.short, r.keep, r.watch
		return l, nil
	}
	l = peekList{}
	err := json.Unmarshal(b, &l)
	return l, err
}

// decodeResults reads {"results":[…]} and appends the results; watch is the token
// behind them.
func decodeResults(b []byte, out []PeekResult) (_ []PeekResult, watch string, err error) {
	r := &reading{s: string(b)}
	r.each("results", func() { out = append(out, r.peekResult()) })
	if r.done() {
		return out, r.watch, nil
	}
	var again struct {
		Results []json.RawMessage `json:"results"`
		Watch   string            `json:"watch"`
	}
	err = json.Unmarshal(b, &again)
	out = out[:0]
	for i := 0; i < len(again.Results) && err == nil; i++ {
		var one PeekResult
		one, err = decodePeek(again.Results[i], (*reading).peekResult)
		out = append(out, one)
	}
	return out, again.Watch, err
}
