package server

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/journal"
	"golang.org/x/sys/unix"
)

// TestJournalMemory: the segments of a busy session stay in memory, wiped, until it is
// idle. A session with little output releases them at once.
func TestJournalMemory(t *testing.T) {
	b := newJournalBench(t)
	memory := func() int64 {
		var st unix.Stat_t
		if err := unix.Fstat(b.fd, &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks * 512
	}
	other := func() []byte {
		return b.s.storage.journal.Mem[(1-b.s.storage.journal.Current())*journal.SegmentArea:][:journal.SegmentLeast]
	} // measuring takes memory, too
	fill := func() {
		for turn := b.s.storage.journal.Turn.Load(); b.s.storage.journal.Turn.Load() == turn; {
			b.write([]byte(strings.Repeat("busy output\r\n", 1000)))
			b.srv.journals.writer.Flush()
		}
	}
	fill()
	fill()
	b.s.storage.journal.Begun = time.Now().Add(time.Hour) // fast output, however slow the machine is
	fill()
	if got := b.s.storage.journal.Limit; got != journal.SegmentBurst {
		t.Errorf("a segment of %d bytes while output comes fast", got)
	}
	if got := memory(); got < journal.SegmentLeast {
		t.Errorf("busy: %d bytes", got)
	}
	if n := len(bytes.Trim(other(), "\x00")); n > 0 {
		t.Errorf("%d bytes were not wiped", n)
	}
	for range 2 {
		b.s.storage.journal.Begun = time.Now().Add(-time.Minute)
		fill()
	}
	if got := b.s.storage.journal.Limit; got != journal.SegmentLeast {
		t.Errorf("a segment of %d bytes while output comes slowly", got)
	}
	if got := memory(); got > journal.SegmentLeast {
		t.Errorf("slow: %d bytes", got)
	}
	fill()
	fill()
	b.s.screen.compact(time.Now().Add(time.Hour).UnixNano())
	if got, most := memory(), int64(b.s.storage.journal.Snap[b.s.storage.journal.Current()].Load())+3*journal.SegmentPad; got > most {
		t.Errorf("at rest: %d bytes, want at most %d", got, most)
	}
	b.s.mu.Lock()
	if _, known := b.srv.compactor.inUse[b.s]; known {
		t.Error("it rests, and is looked at")
	}
	if !strings.Contains(b.s.screen.view().ScreenText(), "busy") {
		t.Error("the screen is blank")
	}
	if _, known := b.srv.compactor.inUse[b.s]; !known {
		t.Error("a screen that was read never rests")
	}
	b.s.mu.Unlock()
	b.crash(t)
	if got := b.s.screen.term.ScreenText(); !strings.Contains(got, "busy output") {
		t.Errorf("after a crash: %q", got)
	}
	if _, known := b.srv.compactor.inUse[b.s]; !known {
		t.Error("a recovered session never rests")
	}
}
