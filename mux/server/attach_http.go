package server

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"github.com/coder/websocket"
)

func handleAttach(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	q := r.URL.Query()
	cols, _ := strconv.Atoi(q.Get("cols"))
	rows, _ := strconv.Atoi(q.Get("rows"))
	if cols != 0 || rows != 0 {
		if err := checkSize(cols, rows); err != nil {
			return nil, err
		}
	}
	if boolQuery(r, "running") && !s.life.running() {
		return nil, fmt.Errorf("%s: %w", s.name(), api.ErrExited)
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return nil, fmt.Errorf("%w: attach requires a WebSocket", api.ErrRequest)
	}
	c := newAttachClient(s, cols, rows)
	c.readOnly, c.alone = boolQuery(r, "readonly"), boolQuery(r, "alone")
	c.out.scrollback, c.out.back = boolQuery(r, "scrollback"), placeOf(r)
	inside := s.srv.sessions.aroundAny(throughOf(r))
	if err := s.srv.nesting.enter(c, inside); err != nil {
		return nil, err
	}
	defer s.srv.nesting.leave(c)
	if len(inside) == 0 {
		s.srv.nesting.mark(c)
	}
	var t *journal.Typist
	if id := typedID(r); id != 0 {
		var err error
		if t, err = s.input.typistOf(r.Context(), id); err != nil {
			return nil, err
		}
		defer s.input.dropTypist(t)
		if t.Known || !boolQuery(r, "back") {
			tellTyped(t, w.Header())
		}
	}
	w.Header().Set(api.SessionHeader, s.rec.ID) // saves the client a request
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // no browser reaches this socket; its peer's uid was checked
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return hijacked{}, nil // Accept has answered
	}
	c.ws = ws
	if t != nil {
		t.Done = t.Next // the reply's header reports what may be lost
		c.in.typist, c.in.taken, c.in.acked = t, t.Done, t.Done
	}
	s.clients.serve(r.Context(), c)
	return hijacked{}, nil
}

// throughOf returns the processes that show the client's terminal: those that it
// names, or itself.
func throughOf(r *http.Request) []int {
	var pids []int
	for field := range strings.SplitSeq(r.URL.Query().Get("through"), ",") {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 && len(pids) < maxThrough {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		pid, _ := r.Context().Value(peerKey{}).(int)
		pids = []int{pid}
	}
	return pids
}

// maxThrough bounds how many processes are examined for one client.
const maxThrough = 32

// placeOf returns where a returning client left off; nil for a new one. A client that
// needs a paint gets an offset that no output has.
func placeOf(r *http.Request) *place {
	if !boolQuery(r, "back") {
		return nil
	}
	q := r.URL.Query()
	offset, err := strconv.ParseUint(q.Get("offset"), 10, 64)
	skip, serr := strconv.ParseUint(q.Get("skip"), 10, 64)
	if err != nil || serr != nil {
		return &place{offset: math.MaxUint64}
	}
	return &place{offset, skip}
}
