package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// viewer shows on the terminal what the server sends. One goroutine uses it;
// others only wait for painted
// and read received.
type viewer struct {
	screen *hostTerminal
	look   *hostLook
	link   *link

	painted chan struct{} // closed when the terminal shows something
	seen    bool          // painted is closed
	begun   bool          // something was written to the terminal
	asked   bool          // the terminal was asked for its colours
	again   bool          // the connection replaces a lost one; until its first paint
	shown   progress

	received atomic.Uint64 // messages, for others
}

func newViewer(screen *hostTerminal, look *hostLook, link *link) *viewer {
	return &viewer{screen: screen, look: look, link: link, painted: make(chan struct{})}
}

// run shows what the server sends until the connection ends.
func (v *viewer) run(ctx context.Context, conn *client.AttachConn) ending {
	var exited bool
	var exit *api.Exit
	buf := make([]byte, 32<<10)
	for {
		control, output, err := conn.Next(ctx)
		v.received.Add(1)
		switch {
		case err != nil && exited:
			return ending{exited: true, exit: exit}
		case errors.Is(err, client.ErrKicked):
			return ending{kicked: true}
		case errors.Is(err, api.ErrNested):
			return ending{failed: err}
		case err != nil:
			return ending{lost: err}
		case control == nil:
			if end, ok := v.show(output, buf); !ok {
				return end
			}
		default:
			if control.Type == "exit" {
				exited, exit = true, control.Exit
			}
			v.carryOut(*control)
		}
	}
}

// carryOut acts on a control message.
func (v *viewer) carryOut(m api.AttachControl) {
	switch m.Type {
	case "typed":
		v.link.taken(m.Typed)
	case "look":
		v.look.ask(v.screen)
	case "paint":
		v.screen.clearImages()
		if v.screen.uncover() {
			v.link.takeStale()
		}
		if v.again { // the last connection may have ended inside a sequence
			v.again, v.asked = false, false
			v.screen.reset()
		}
	}
	v.shown.control(m)
}

// show copies one message to the terminal, through buf; false ends the connection.
func (v *viewer) show(r io.Reader, buf []byte) (ending, bool) {
	if !v.begun {
		v.begun, v.asked = true, true
		v.look.begin(v.screen)
	}
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if werr := v.screen.write(buf[:n]); werr != nil {
				return ending{failed: fmt.Errorf("write to the terminal: %w", werr)}, false
			}
			v.shown.behind += uint64(n)
		}
		switch {
		case err == io.EOF:
			v.finished()
			return ending{}, true
		case err != nil:
			return ending{lost: err}, false
		}
	}
}

// finished notes that the terminal shows a whole message.
func (v *viewer) finished() {
	v.shown.finished()
	if !v.seen {
		v.seen = true
		close(v.painted)
	}
	if !v.asked {
		v.asked = true
		v.look.ask(v.screen)
	}
}
