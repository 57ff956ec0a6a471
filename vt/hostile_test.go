package vt

import (
	"fmt"
	"os"
	goruntime "runtime"
	"testing"

	"gascity.dev/gc/internal/testenv"
)

// discard stores no page, and records the length of the longest.
type discard struct{ pages, longest int }

func (d *discard) Append(page []byte) (uint64, error) {
	d.pages++
	d.longest = max(d.longest, len(page))
	return uint64(d.pages), nil
}

func (d *discard) Read(uint64) ([]byte, error) { return nil, errPage }

// TestHostileOutput: whatever a program writes, the memory kept stays small, a
// snapshot too, and what was dropped is counted.
func TestHostileOutput(t *testing.T) {
	size := int64(6 << 20)
	if os.Getenv("GC_SOAK") != "" {
		size = 200 << 20
	}
	counted := map[string]func(Dropped) uint64{
		"long-titles":     func(d Dropped) uint64 { return d.Strings },
		"notices":         func(d Dropped) uint64 { return d.Events },
		"clipboard":       func(d Dropped) uint64 { return d.Events },
		"device-strings":  func(d Dropped) uint64 { return d.Strings },
		"questions":       func(d Dropped) uint64 { return d.Replies },
		"link-parameters": func(d Dropped) uint64 { return d.Strings },
	}
	for _, h := range testenv.HostileOutput() {
		t.Run(h.Name, func(t *testing.T) {
			pages := &discard{}
			term, err := New(Options{Cols: 120, Rows: 40, Pages: pages})
			if err != nil {
				t.Fatal(err)
			}
			before := heap()
			if err := h.WriteTo(term, size); err != nil {
				t.Fatal(err)
			}
			kept := heap() - before
			snap := term.SnapshotPages()
			t.Logf("kept %d KiB, snapshot %d KiB, longest page %d KiB, dropped %+v", kept>>10, len(snap)>>10, pages.longest>>10, term.Dropped())
			if kept > 12<<20 {
				t.Errorf("%d bytes are kept", kept)
			}
			if len(snap) > 8<<20 {
				t.Errorf("a snapshot has %d bytes", len(snap))
			}
			if pages.longest > 2<<20 {
				t.Errorf("a page has %d bytes", pages.longest)
			}
			if f := counted[h.Name]; f != nil && f(term.Dropped()) == 0 {
				t.Errorf("nothing was counted: %+v", term.Dropped())
			}
			back, err := Restore(snap, Options{Cols: 120, Rows: 40, Pages: pages})
			if err != nil {
				t.Fatal(err)
			}
			if back.ScreenText() != term.ScreenText() || back.Dropped() != term.Dropped() {
				t.Errorf("the snapshot has another screen, or %+v for %+v", back.Dropped(), term.Dropped())
			}
			goruntime.KeepAlive(term)
		})
	}
}

// TestLinksBeyondTheirBound: a screen with more links than allowed keeps its
// text, and every dump of it stays small.
func TestLinksBeyondTheirBound(t *testing.T) {
	const cols, rows = 250, 80
	term, err := New(Options{Cols: cols, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	for i := range cols * rows {
		fmt.Fprintf(term, "\x1b]8;;http://%d/%0*d\x1b\\l", i%600, 4000, i%2)
	}
	if d := term.Dropped(); d.Links == 0 {
		t.Error("no link was dropped")
	}
	if n := len(term.Snapshot()); n > 8<<20 {
		t.Errorf("a snapshot has %d bytes", n)
	}
	if n := len(term.AppendPaint(nil, PaintOptions{})); n > 8<<20 {
		t.Errorf("a paint has %d bytes", n)
	}
	links := 0
	for _, l := range term.Screen().Lines {
		for _, r := range l.Runs {
			links += len(r.Link)
		}
	}
	if links == 0 || links > 8<<20 {
		t.Errorf("the screen as data has %d bytes of links", links)
	}
}

// heap is the memory in use, in bytes.
func heap() int64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
