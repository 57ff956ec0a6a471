package attached

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

// Serve attaches a terminal at the end of a request, whose process is peer, until it, the
// session or the request ends. An error is to be answered; without one, Serve has answered.
func (cs *Clients) Serve(w http.ResponseWriter, r *http.Request, peer int, nesting *Nesting) error {
	s := cs.s
	q := r.URL.Query()
	cols, _ := strconv.Atoi(q.Get("cols"))
	rows, _ := strconv.Atoi(q.Get("rows"))
	if cols != 0 || rows != 0 {
		if err := api.CheckSize(cols, rows); err != nil {
			return err
		}
	}
	if flag(r, "running") && cs.ended() {
		return fmt.Errorf("%s: %w", s.Name(), api.ErrExited)
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return fmt.Errorf("%w: attach requires a WebSocket", api.ErrRequest)
	}
	c := newClient(cs, cols, rows)
	c.readOnly, c.alone = flag(r, "readonly"), flag(r, "alone")
	c.terminal.host.Images = imagesNamed(strings.Split(q.Get("images"), ","))
	c.out.scrollback, c.out.back = flag(r, "scrollback"), placeOf(r)
	inside := nesting.around(throughOf(r, peer))
	if err := nesting.enter(c, inside); err != nil {
		return err
	}
	defer nesting.leave(c)
	if len(inside) == 0 {
		nesting.mark(c)
	}
	var t *journal.Typist
	if id := typedID(r); id != 0 {
		var err error
		if t, err = cs.typistOf(r.Context(), id); err != nil {
			return err
		}
		defer cs.dropTypist(t)
		if t.Known || !flag(r, "back") {
			tellTyped(t, w.Header())
		}
	}
	w.Header().Set(api.SessionHeader, s.ID()) // saves the client a request
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // no browser reaches this socket; its peer's uid was checked
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil // Accept has answered
	}
	c.ws = ws
	if t != nil {
		t.Done = t.Next // the reply's header reports what may be lost
		c.in.typist, c.in.taken, c.in.acked = t, t.Done, t.Done
	}
	cs.serve(r.Context(), c)
	return nil
}

// throughOf returns the processes that show the client's terminal: those that it
// names, or itself.
func throughOf(r *http.Request, peer int) []int {
	var pids []int
	for field := range strings.SplitSeq(r.URL.Query().Get("through"), ",") {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 && len(pids) < maxThrough {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		pids = []int{peer}
	}
	return pids
}

// maxThrough bounds how many processes are examined for one client.
const maxThrough = 32

// placeOf returns where a returning client left off; nil for a new one. A client that
// needs a paint gets an offset that no output has.
func placeOf(r *http.Request) *place {
	if !flag(r, "back") {
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

func flag(r *http.Request, key string) bool {
	v, _ := strconv.ParseBool(r.URL.Query().Get(key))
	return v
}

// ended reports whether the session has ended.
func (cs *Clients) ended() bool {
	cs.s.Lock()
	defer cs.s.Unlock()
	return cs.s.Exit() != nil
}
