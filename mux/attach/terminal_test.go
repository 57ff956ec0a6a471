package attach

import (
	"bytes"
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/vt"
)

// slowTerminal is a terminal on which a deadline in the past takes effect late.
type slowTerminal struct {
	mu       sync.Mutex
	deadline time.Time
	shown    bytes.Buffer
}

func (s *slowTerminal) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() && !t.After(time.Now()) {
		time.Sleep(20 * time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	return nil
}

func (s *slowTerminal) Write(p []byte) (int, error) {
	time.Sleep(40 * time.Millisecond) // the deadline may come meanwhile
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.deadline.IsZero() && !s.deadline.After(time.Now()) {
		return 0, os.ErrDeadlineExceeded
	}
	return s.shown.Write(p)
}

// TestRestoreIsNotCutOff: the end of an attachment cuts off output that the terminal does
// not take, but never what restores the terminal.
func TestRestoreIsNotCutOff(t *testing.T) {
	w := &slowTerminal{}
	ctx, cancel := context.WithCancel(t.Context())
	screen := newHostTerminal(Options{Out: w})
	screen.open(ctx)
	if err := screen.write([]byte("output")); err != nil {
		t.Fatal(err)
	}
	cancel()
	screen.restore()
	if !bytes.HasSuffix(w.shown.Bytes(), vt.AppendReset(nil)) {
		t.Errorf("the terminal shows %q", w.shown.String())
	}
}
