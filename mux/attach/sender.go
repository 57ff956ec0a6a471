package attach

import (
	"context"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

const (
	maxQueued = 256      // messages that wait for the server
	maxTyped  = 32 << 10 // bytes of kept input in one message
)

// message is input to send, or the person's request to detach.
type message struct {
	input  []byte
	detach bool
}

// notice tells a goroutine that something changed; several notices are one.
type notice chan struct{}

func newNotice() notice { return make(notice, 1) }

func (n notice) note() {
	select {
	case n <- struct{}{}:
	default:
	}
}

// sender sends to the server what the person types and the properties of their
// terminal.
type sender struct {
	screen *hostTerminal
	look   *hostLook
	link   *link

	messages chan message
	resized  notice // the size changed
	repaint  notice // the terminal must be painted
	looked   notice // the terminal reported its colours or cell size
	changed  notice // the terminal's colours changed
	sent     notice // input was sent

	// Used by run's goroutine only.
	unsent []byte   // input that could not be written
	sized  api.Size // the size that the server has
}

func newSender(screen *hostTerminal, look *hostLook, link *link) *sender {
	return &sender{
		screen: screen, look: look, link: link,
		messages: make(chan message, maxQueued), resized: newNotice(), repaint: newNotice(), looked: newNotice(), changed: newNotice(), sent: newNotice(),
	}
}

// run sends until an error, first the input that a dead server did not pass to
// the program.
func (s *sender) run(ctx context.Context, conn *client.AttachConn) {
	err := s.resend(ctx, conn)
	if err == nil {
		err = s.sendLook(ctx, conn)
	}
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-s.looked:
			err = s.sendLook(ctx, conn)
		case <-s.changed:
			err = conn.Control(ctx, api.AttachControl{Type: "look"})
		case <-s.resized:
			if err = s.sendSize(ctx, conn, s.size()); err == nil {
				err = s.sendLook(ctx, conn)
			}
		case <-s.repaint:
			if now := s.size(); now.Cols > 0 {
				err = s.sendSize(ctx, conn, now) // the server paints a terminal that tells its size
			} else {
				conn.Drop() // the next connection paints it
			}
		case m := <-s.messages:
			if m.detach {
				err = conn.Control(ctx, api.AttachControl{Type: "detach"})
			} else {
				err = s.sendInput(ctx, conn, m.input)
			}
		}
	}
}

// resend sends the input that the last connection did not deliver to the
// program.
func (s *sender) resend(ctx context.Context, conn *client.AttachConn) error {
	rest := s.link.resume(conn, s.unsent)
	s.unsent = nil
	for len(rest) > 0 {
		part := rest[:min(len(rest), maxTyped)]
		if err := s.write(ctx, conn, part); err != nil {
			s.unsent = rest
			return err
		}
		rest = rest[len(part):]
	}
	return nil
}

func (s *sender) sendInput(ctx context.Context, conn *client.AttachConn, p []byte) error {
	s.link.keep(p)
	err := s.write(ctx, conn, p)
	if err != nil {
		s.unsent = p
		return err
	}
	s.sent.note()
	return nil
}

// write sends input, and before it a new size of the terminal, even if SIGWINCH has
// not come yet: the program should find the size at which the input was typed.
func (s *sender) write(ctx context.Context, conn *client.AttachConn, p []byte) error {
	if now := s.size(); now != s.sized {
		if err := s.sendSize(ctx, conn, now); err != nil {
			return err
		}
	}
	return conn.Write(ctx, p)
}

func (s *sender) size() api.Size {
	cols, rows := s.screen.size()
	return api.Size{Cols: cols, Rows: rows}
}

func (s *sender) sendSize(ctx context.Context, conn *client.AttachConn, now api.Size) error {
	s.sized = now
	return conn.Resize(ctx, now.Cols, now.Rows)
}

// sendLook sends the terminal's colours and cell size, if known.
func (s *sender) sendLook(ctx context.Context, conn *client.AttachConn) error {
	m, known := s.look.control(s.screen)
	if !known {
		return nil
	}
	return conn.Control(ctx, m)
}
