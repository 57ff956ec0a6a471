package host

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/view"
)

// paintTime is the time between two paints of the agent's text: the journal grows
// by each. A person's input is painted at once.
const paintTime = 33 * time.Millisecond

// screen is the host's terminal: paints and typed keys. A terminal that accepts
// nothing delays only the paints.
type screen struct {
	in, out *os.File
	nonce   string
	view    *view.View

	keys    chan []byte
	writes  chan []byte
	written chan struct{}

	wants   bool   // a paint is wanted
	busy    bool   // a paint is being written
	reports []byte // to be written with the next paint
	last    time.Time
	timer   *time.Timer
	armed   bool
	old     *term.State
}

// openScreen puts the terminal in raw mode and begins to read keys.
func openScreen(in, out *os.File, nonce string) (*screen, error) {
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("the host requires a terminal: %w", err)
	}
	s := &screen{
		in: in, out: out, nonce: nonce, old: old,
		keys: make(chan []byte), writes: make(chan []byte), written: make(chan struct{}, 1),
		timer: time.NewTimer(time.Hour),
	}
	s.timer.Stop()
	cols, rows := s.size()
	s.view = view.New(cols, rows)
	go s.read()
	go s.write()
	return s, nil
}

// size returns the terminal's size, 80 × 24 if it is unknown.
func (s *screen) size() (cols, rows int) {
	cols, rows, err := term.GetSize(int(s.out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return cols, rows
}

// read passes on typed keys. It ends with the process.
func (s *screen) read() {
	for {
		b := make([]byte, 4<<10)
		n, err := s.in.Read(b)
		if err != nil {
			return
		}
		s.keys <- b[:n]
	}
}

// write writes paints, one at a time.
func (s *screen) write() {
	for b := range s.writes {
		_, _ = s.out.Write(b) // the terminal's end is the session's
		s.written <- struct{}{}
	}
}

// dirty asks for a paint, soon.
func (s *screen) dirty() { s.wants = true }

// flush arms the timer for the next paint.
func (s *screen) flush() {
	if s.wants && !s.busy && !s.armed {
		s.armed = true
		s.timer.Reset(max(0, paintTime-time.Since(s.last)))
	}
}

// report reports the agent's activity to the multiplexer (OSC 7501), with a paint at
// once.
func (s *screen) report(st control.State) {
	text := st.Evidence
	if st.Pending != nil {
		text = st.Pending.Prompt
	}
	s.reports = append(s.reports, view.Report(st.Activity, st.Kind, s.nonce, text)...)
	s.now()
}

// now asks for a paint at once.
func (s *screen) now() {
	s.wants, s.last = true, time.Time{}
	if s.armed {
		s.timer.Reset(0)
	}
}

// paint paints the frame, unless the terminal is still busy with the last one.
func (s *screen) paint(f view.Frame) {
	s.armed = false
	if !s.wants || s.busy {
		return
	}
	s.wants, s.last = false, time.Now()
	s.view.Resize(s.size()) // SIGWINCH may come later
	b := append(s.reports, s.view.Paint(f)...)
	s.reports = nil
	if len(b) == 0 {
		return
	}
	s.busy = true
	s.writes <- b
}

// drain waits shortly for the last paint: the terminal may accept nothing.
func (s *screen) drain() {
	if !s.busy {
		return
	}
	select {
	case <-s.written:
		s.busy = false
	case <-time.After(time.Second):
	}
}

// finish writes the rest of the conversation, and removes the composer.
func (s *screen) finish(f view.Frame) {
	s.drain()
	if !s.busy {
		s.busy = true
		s.writes <- append(s.reports, s.view.Close(f)...)
		s.drain()
	}
}

// close restores the terminal.
func (s *screen) close() {
	_ = term.Restore(int(s.in.Fd()), s.old) // the program ends anyway
}
