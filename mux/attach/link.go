package attach

import (
	"sync"

	"gascity.dev/gc/mux/client"
)

// link is the connection in use, and the state that outlives it. Any goroutine
// may call it.
type link struct {
	mu      sync.Mutex
	conn    *client.AttachConn // nil between two connections
	kept    keptInput
	stale   bool   // something else was written to the terminal: the next connection repaints it
	leaving bool   // the detach keys were typed; the server may close the connection
	rest    []byte // what was typed after them
}

// use notes the connection in use, and reports whether the terminal must be repainted.
func (l *link) use(conn *client.AttachConn) (stale bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	return l.stale
}

// drop breaks the connection in use; the next one paints the terminal.
func (l *link) drop() {
	l.mu.Lock()
	conn := l.conn
	l.stale = true
	l.mu.Unlock()
	if conn != nil {
		conn.Drop()
	}
}

// spoil notes that the terminal shows something else than the session.
func (l *link) spoil() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = true
}

// takeStale reports whether the terminal must be repainted, and clears that.
func (l *link) takeStale() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	stale := l.stale
	l.stale = false
	return stale
}

// leave notes that the detach keys were typed, and rest after them.
func (l *link) leave(rest []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaving, l.rest = true, rest
}

func (l *link) isLeaving() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaving
}

// typedBehind returns what was typed after the detach keys.
func (l *link) typedBehind() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rest
}

// resume returns the input to send first on conn; see keptInput.resume.
func (l *link) resume(conn *client.AttachConn, unsent []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.resume(conn.Typed(), unsent)
}

// keep stores input that may have to be sent again.
func (l *link) keep(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept.add(p)
}

// taken notes that the server has the first n bytes of input.
func (l *link) taken(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept.taken(n)
}

// lost is how many bytes of input may not have arrived.
func (l *link) lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.lost
}
