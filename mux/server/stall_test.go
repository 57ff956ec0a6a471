package server

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gascity.dev/gc/mux/internal/loop"
	"gascity.dev/gc/mux/journal"
	"golang.org/x/sys/unix"
)

// TestNoSpaceForASnapshot: a session whose journal gets no memory leaves output
// with the program, retries at growing intervals, and continues without a gap.
func TestNoSpaceForASnapshot(t *testing.T) {
	b := newJournalBench(t)
	l, err := loop.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b.srv.loop = l
	if b.s.tty.fd, err = unix.FcntlInt(r.Fd(), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(b.s.tty.fd, true); err != nil {
		t.Fatal(err)
	}
	const tries = 5
	var left atomic.Int32
	left.Store(tries)
	var times []time.Time // guarded by session.mu
	was := journal.SnapshotFault
	defer func() { journal.SnapshotFault = was }()
	journal.SnapshotFault = func() error {
		if left.Add(-1) >= 0 {
			times = append(times, time.Now())
			return unix.ENOSPC
		}
		return nil
	}
	if err := l.Add(&b.s.tty); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a line of output\r\n", 4*journal.SegmentLeast/18)
	go func() {
		_, _ = w.WriteString(text)
		w.Close()
	}()
	for done := false; !done; time.Sleep(time.Millisecond) {
		b.s.mu.Lock()
		done = b.s.screen.rendered == uint64(len(text)) && b.s.tty.eof
		b.s.mu.Unlock()
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.s.life.drain.Stop()
	if len(times) != tries {
		t.Fatalf("%d tries failed, want %d", len(times), tries)
	}
	for i, least := 1, stallFirst; i < tries; i, least = i+1, 2*least {
		if d := times[i].Sub(times[i-1]); d < least {
			t.Errorf("try %d came after %v, want %v", i, d, least)
		}
	}
	l.Remove(&b.s.tty)
	unix.Close(b.s.tty.fd)
	r.Close()
}

// TestScreenTooLargeForASnapshot: the screen stays; after a crash it is reported lost,
// and the session continues.
func TestScreenTooLargeForASnapshot(t *testing.T) {
	b := newJournalBench(t)
	b.s.storage.journal.Most = 2048
	b.write([]byte(strings.Repeat("history\r\n", 100)))
	for i := range 200 {
		b.write([]byte("\x1b[38;2;1;2;" + strings.Repeat("1", i%2+1) + "mx"))
	}
	b.s.storage.nextSegment()
	b.write([]byte("\x1b[m\r\ngoes on"))
	if got := b.s.screen.term.ScreenText(); !strings.HasSuffix(got, "xxx\ngoes on") || b.s.screen.lost || b.s.storage.stall.on {
		t.Errorf("it shows %q, lost %v, stalled %v", got, b.s.screen.lost, b.s.storage.stall.on)
	}
	b.crash(t)
	if !b.s.screen.lost {
		t.Error("the screen is lost, and that is not reported")
	}
	b.write([]byte("\x1b[H\x1b[2Jfresh"))
	if got := b.s.screen.term.ScreenText(); got != "fresh" {
		t.Errorf("after the crash: %q", got)
	}
}
