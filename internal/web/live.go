package web

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/web/access"
)

// Limits of a page.
const (
	maxMessage   = 2 << 20 // a nudge has up to 1 MiB
	maxCalls     = 16      // at a time
	maxTerminals = 8
	patience     = 30 * time.Second
	beatEvery    = 10 * time.Second
)

// live is one page: its WebSocket, and all that goes over it.
type live struct {
	server  *Server
	session access.Session
	ws      *websocket.Conn
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup
	calls   chan struct{} // a slot for each call
	recheck chan struct{} // gets a value when the session may have been revoked

	writing sync.Mutex

	mu        sync.Mutex // guards what follows
	looks     []screens.Look
	viewer    screens.Viewer
	following context.CancelFunc // of the events
	terminals map[uint32]*terminal
}

// message is what a page sends.
type message struct {
	Op string `json:"op"` // look, events, attach, resize, ack, close, call

	Looks  []screens.Look  `json:"looks"`
	After  string          `json:"after"`
	N      uint32          `json:"n"` // of a call, or the channel of a terminal
	ID     string          `json:"id"`
	Cols   int             `json:"cols"`
	Rows   int             `json:"rows"`
	Take   bool            `json:"take"` // attach with control
	Bytes  int             `json:"bytes"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Close statuses.
const (
	statusNoSession = 4401
	statusSlow      = 4408
)

func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	session, err := s.Gate.ByCookie(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	// The gate has compared Origin with Host already.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has been answered
	}
	defer ws.CloseNow()
	ws.SetReadLimit(maxMessage)
	if !hello(r.Context(), ws, session) {
		ws.Close(statusNoSession, access.ErrNoSession.Error())
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	l := &live{
		server: s, session: session, ws: ws, ctx: ctx, cancel: cancel,
		calls: make(chan struct{}, maxCalls), recheck: make(chan struct{}, 1), terminals: map[uint32]*terminal{},
	}
	l.run()
}

// hello reads the first message, which must have the second secret.
func hello(ctx context.Context, ws *websocket.Conn, session access.Session) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var m struct {
		Secret string `json:"secret"`
	}
	kind, data, err := ws.Read(ctx)
	return err == nil && kind == websocket.MessageText && json.Unmarshal(data, &m) == nil && session.CheckSecret(m.Secret)
}

func (l *live) run() {
	defer l.work.Wait()
	defer l.cancel()
	defer l.closeTerminals()
	if l.send(map[string]any{"op": "welcome", "readOnly": l.session.ReadOnly, "version": l.server.Version}) != nil {
		return
	}
	l.server.pages.join(l)
	defer l.server.pages.leave(l)
	l.recheck <- struct{}{} // it may have been revoked while the page came in
	l.server.feed.join()
	defer l.server.feed.leave()
	l.work.Go(l.showFleet)
	l.work.Go(l.showScreens)
	l.work.Go(l.beat)
	for {
		kind, data, err := l.ws.Read(l.ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			l.typed(data)
			continue
		}
		var m message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		l.handle(m)
	}
}

func (l *live) handle(m message) {
	switch m.Op {
	case "look":
		l.look(m.Looks)
	case "events":
		l.follow(m.After)
	case "attach":
		l.attach(m)
	case "resize", "ack", "close":
		l.control(m)
	case "call":
		select {
		case l.calls <- struct{}{}:
			l.work.Go(func() {
				defer func() { <-l.calls }()
				l.send(l.call(m))
			})
		default:
			l.work.Go(func() { l.send(result{Op: "result", N: m.N, Error: &failure{"busy", "too many requests at a time"}}) })
		}
	}
}

// send writes one message. A page that does not read for long is closed; it
// reconnects when it wakes.
func (l *live) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.write(websocket.MessageText, data)
}

func (l *live) write(kind websocket.MessageType, data []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	ctx, cancel := context.WithTimeout(l.ctx, cmp.Or(l.server.Patience, patience))
	defer cancel()
	err := l.ws.Write(ctx, kind, data)
	if err != nil {
		l.cancel()
	}
	return err
}

func (l *live) showFleet() {
	var before *state
	for {
		st, err := l.server.feed.next(l.ctx, before)
		if err != nil || l.send(st.since(before)) != nil {
			return
		}
		before = st
	}
}

// beat tells the page that the server is there, and ends the page when its session has ended.
func (l *live) beat() {
	beat, over := time.NewTicker(beatEvery), time.NewTimer(time.Until(l.session.Ends))
	defer beat.Stop()
	defer over.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-beat.C:
			if l.send(map[string]string{"op": "beat"}) != nil {
				return
			}
			continue
		case <-l.recheck:
		case <-over.C:
		}
		if !l.server.Gate.Keys.Valid(l.session) {
			l.ws.Close(statusNoSession, access.ErrNoSession.Error())
			l.cancel()
			return
		}
	}
}

func (l *live) look(looks []screens.Look) {
	if len(looks) > screens.MaxLooks {
		looks = looks[:screens.MaxLooks]
	}
	l.mu.Lock()
	l.looks = looks
	viewer := l.viewer
	l.mu.Unlock()
	if viewer != nil {
		viewer.Look(looks) // if it broke, the next one gets them
	}
}

// showScreens sends what the page looks at; it asks for another viewer when one
// breaks.
func (l *live) showScreens() {
	for pause := 100 * time.Millisecond; l.ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		viewer, err := l.server.Fleet.Screens(l.ctx)
		if err == nil {
			if l.show(viewer) {
				pause = 100 * time.Millisecond
			}
			viewer.Close()
		}
		select {
		case <-l.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// show reports whether the viewer showed anything.
func (l *live) show(viewer screens.Viewer) (any bool) {
	l.mu.Lock()
	l.viewer = viewer
	looks := l.looks
	l.mu.Unlock()
	ended := context.AfterFunc(l.ctx, func() { viewer.Close() })
	defer ended()
	if viewer.Look(looks) != nil {
		return false
	}
	for {
		u, err := viewer.Next()
		if err != nil {
			return any
		}
		any = true
		if l.send(screenMessage{"screen", u}) != nil {
			return any
		}
	}
}

type screenMessage struct {
	Op     string         `json:"op"`
	Screen screens.Update `json:"screen"`
}

// follow sends events after the given one, instead of those sent so far.
func (l *live) follow(after string) {
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	if l.following != nil {
		l.following()
	}
	l.following = cancel
	l.mu.Unlock()
	l.work.Go(func() {
		for ctx.Err() == nil {
			l.server.Fleet.Events(ctx, after, func(e fleet.Event) error {
				after = e.ID
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return l.send(map[string]any{"op": "event", "event": e})
			})
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
}

func copyAll(w http.ResponseWriter, r io.Reader) { io.Copy(w, r) }
