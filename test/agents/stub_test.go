//go:build agents

package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// thinking is the stub's delay before it answers, to make a turn visible.
const thinking = 1200 * time.Millisecond

// request is a request to the model, in any dialect.
type request struct {
	Dialect string
	Users   []string // texts of the user's messages, the whole conversation
	Tools   []string // names; those of a namespace after its name and a slash
	Shell   string   // name of the tool that runs a command; "" in side requests
	Results []string // of tools, if they are the latest messages
	Stream  bool
	At      time.Time
	Ended   time.Time // zero while being answered
	Aborted bool      // the agent closed the connection before the answer was complete
}

// last returns the user's latest message.
func (r *request) last() string {
	if len(r.Users) == 0 {
		return ""
	}
	return r.Users[len(r.Users)-1]
}

// dialect is the wire format of a model server.
type dialect interface {
	decode(body []byte, r *request) error
	// whole answers a request without streaming.
	whole(text string) any
	open(w *stream)
	text(w *stream, piece string)
	tool(w *stream, name, args string)
	close(w *stream, usedTool bool)
}

// hang in the user's last text makes the model never answer.
const hang = "HANG"

// limited in the user's last text makes the model's provider refuse every request.
const limited = "LIMITED"

// stub is the model. It follows the user's last text: TRY(command) runs a shell
// command, RUN(command) too and requests more permissions if a model can
// (codex), CALL(tool) calls a tool of gc's MCP server, USE(tool arguments) a tool of another,
// SLOW(n) speaks for n seconds, anything else gets a short answer. "Run this command: …", words for a real model, too, is
// RUN. It follows each text once: agents repeat the text of an interrupted turn before
// the next message.
type stub struct {
	url string

	mu       sync.Mutex
	followed []string // directives
	wanted   string   // the tool of a CALL that is not yet reached
	searched bool     // for it
	requests []*request
	strange  []string // requests in no known dialect
}

func newStub(t *testing.T) *stub { return newStubAt(t, "127.0.0.1:0") }

func newStubAt(t *testing.T, address string) *stub {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{url: "http://" + l.Addr().String()}
	server := &http.Server{Handler: s}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // ends with Close
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return s
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := dialectOf(r.URL.Path)
	if r.Method != http.MethodPost || d == nil {
		s.other(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the agent is gone
	}
	req := &request{At: time.Now(), Stream: true}
	if err := d.decode(body, req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	if !req.Stream {
		writeJSON(w, d.whole(sideAnswer(body)))
		s.end(req, nil)
		return
	}
	if strings.Contains(req.last(), limited) && req.Shell != "" {
		if req.Dialect == "anthropic" {
			w.Header().Set("Retry-After", "3600") // else claude tries again for minutes
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{
			"type": "rate_limit_error", "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You have exhausted your quota.",
			"details": []any{map[string]any{ // as Google's, for a day
				"@type":      "type.googleapis.com/google.rpc.QuotaFailure",
				"violations": []any{map[string]any{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}},
			}},
		}}) // the agent may be gone
		s.end(req, nil)
		return
	}
	out := newStream(w, r)
	if strings.Contains(req.last(), hang) && req.Shell != "" {
		<-r.Context().Done() // not a byte
		s.end(req, net.ErrClosed)
		return
	}
	s.answer(d, out, req)
	s.end(req, out.err)
}

// other answers agents' requests outside their conversation.
func (s *stub) other(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		writeJSON(w, map[string]any{"input_tokens": 10})
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		writeJSON(w, map[string]any{"totalTokens": 10})
	case r.Method == http.MethodGet:
		model := map[string]any{"id": "stub", "object": "model", "type": "model", "display_name": "stub"}
		writeJSON(w, map[string]any{"object": "list", "data": []any{model}, "models": []any{}, "has_more": false})
	default:
		s.mu.Lock()
		s.strange = append(s.strange, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		writeJSON(w, map[string]any{})
	}
}

func (s *stub) end(r *request, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Ended, r.Aborted = time.Now(), err != nil
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the agent may be gone
}

// sideAnswer answers a request without streaming. If JSON is wanted, it covers
// all requests of gemini and qwen: the next speaker, and the choice of a model.
func sideAnswer(body []byte) string {
	if wantsJSON.Match(body) {
		return `{"reasoning":"stub","next_speaker":"user","model_choice":"flash","complexity_reasoning":"stub","complexity_score":1}`
	}
	return "Stub answer."
}

var wantsJSON = regexp.MustCompile(`"response(MimeType|JsonSchema)"|next_speaker`)

// direction returns the directive in the user's last text, RUN, TRY, CALL or SLOW
// with its argument, or nothing. Each is returned once.
func (s *stub) direction(r *request) (verb, argument string) {
	all := directions.FindAllStringSubmatch(r.last(), -1)
	if m := command.FindStringSubmatch(r.last()); m != nil {
		all = append(all, []string{m[0], "RUN", m[1]})
	}
	if notice := mailNotice.FindString(r.last()); notice != "" {
		all = append(all, []string{notice, "TRY", "sh pass-on.sh"})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range all {
		if len(r.Results) == 0 && !slices.Contains(s.followed, m[0]) {
			s.followed = append(s.followed, m[0])
			return m[1], m[2]
		}
	}
	return "", ""
}

// mailNotice is what gc types to tell an agent of its mail; see TestTeam.
var mailNotice = regexp.MustCompile(`\[gc:mail [a-z0-9]+\]`)

// command is a person's message in the recipes.
var command = regexp.MustCompile(`Run this command: (.+)`)

var directions = regexp.MustCompile(`(RUN|TRY|SLOW|CALL|USE)\(([^)]*)\)`)

// answer writes the response to the request in the dialect.
func (s *stub) answer(d dialect, w *stream, r *request) {
	d.open(w)
	if r.Shell == "" {
		d.text(w, "Stub answer.")
		d.close(w, false)
		return
	}
	if strings.Contains(r.last(), "tag-") { // otherwise the agent's own request outside the conversation
		w.pause(thinking)
	}
	verb, argument := s.direction(r)
	if verb == "RUN" || verb == "TRY" {
		d.tool(w, r.Shell, commandArgs(r.Shell, argument, verb == "RUN"))
		d.close(w, true)
		return
	}
	if verb == "USE" {
		if name, args := use(r.Tools, argument); name != "" {
			d.tool(w, name, args)
			d.close(w, true)
			return
		}
	}
	if name, args := s.call(r, verb, argument); name != "" {
		d.tool(w, name, args)
		d.close(w, true)
		return
	}
	n, _ := strconv.Atoi(argument) // of SLOW; otherwise none
	for i := range 2 * n {
		d.text(w, fmt.Sprintf("word%d ", i))
		w.pause(500 * time.Millisecond)
	}
	d.text(w, "Stub answer, done.")
	d.close(w, false)
}

// call returns the next call on the way to the tool of a CALL, "" without one.
func (s *stub) call(r *request, verb, argument string) (name, args string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if verb == "CALL" {
		s.wanted, s.searched = argument, false
	}
	if s.wanted == "" {
		return "", ""
	}
	name, args, reached := toolCall(r.Tools, s.wanted, s.searched)
	s.searched = true
	if reached {
		s.wanted = ""
	}
	return name, args
}

// result reports whether a tool's result with that text has reached the model.
func (s *stub) result(text string) bool {
	return slices.ContainsFunc(s.main(), func(r request) bool {
		return slices.ContainsFunc(r.Results, func(x string) bool { return strings.Contains(x, text) })
	})
}

// stream is a response of server-sent events. After the first error nothing
// more is written.
type stream struct {
	w       io.Writer
	flush   func() error
	gone    <-chan struct{}
	err     error
	id      string
	indexes int
}

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	c := http.NewResponseController(w)
	return &stream{w: w, flush: c.Flush, gone: r.Context().Done(), id: strconv.FormatInt(time.Now().UnixNano(), 36)}
}

// event writes an event; name may be empty.
func (s *stream) event(name string, data any) {
	if s.err != nil {
		return
	}
	text, ok := data.(string)
	if !ok {
		b, err := json.Marshal(data)
		if err != nil {
			s.err = err
			return
		}
		text = string(b)
	}
	if name != "" {
		text = "event: " + name + "\ndata: " + text
	} else {
		text = "data: " + text
	}
	if _, s.err = io.WriteString(s.w, text+"\n\n"); s.err == nil {
		s.err = s.flush()
	}
}

// pause returns early if the agent closes the connection.
func (s *stream) pause(d time.Duration) {
	if s.err != nil {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.gone:
		s.err = net.ErrClosed
	}
}

// main returns the requests of the conversation itself, oldest first.
func (s *stub) main() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []request
	for _, r := range s.requests {
		if r.Shell != "" {
			out = append(out, *r)
		}
	}
	return out
}

// asked returns the first request whose last user text contains tag.
func (s *stub) asked(tag string) (request, bool) {
	all := s.main()
	i := slices.IndexFunc(all, func(r request) bool { return strings.Contains(r.last(), tag) })
	if i < 0 {
		return request{}, false
	}
	return all[i], true
}

// times returns how often the conversation as last sent contains a message with
// tag, and the last one's text.
func (s *stub) times(tag string) (n int, text string) {
	all := s.main()
	if len(all) == 0 {
		return 0, ""
	}
	for _, u := range all[len(all)-1].Users {
		if strings.Contains(u, tag) {
			n, text = n+1, u
		}
	}
	return n, text
}

// tail shows the latest requests, for a person.
func (s *stub) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, r := range s.requests[max(0, len(s.requests)-8):] {
		last := r.last()
		fmt.Fprintf(&b, "%s %s shell=%q users=%d results=%d aborted=%v last=%q\n", r.At.Format("15:04:05.000"), r.Dialect,
			r.Shell, len(r.Users), len(r.Results), r.Aborted, last[max(0, len(last)-200):])
	}
	return b.String() + "strange: " + strings.Join(s.strange, ", ")
}
