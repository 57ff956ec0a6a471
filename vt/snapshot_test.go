package vt_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// drawLong draws input that seals pages of history, mixed with other input.
func drawLong(t *rapid.T) []byte {
	var b bytes.Buffer
	for range rapid.IntRange(1, 2).Draw(t, "parts") {
		b.Write(drawInput(t, 15))
		line := rapid.SampledFrom([]string{
			"plain text of a line %d", "\x1b[3%[1]dmred %[1]d\x1b[m and 漢字 e\u0301", "%d a long line that is wrapped in every size, and again",
		}).Draw(t, "line")
		for i := range rapid.SampledFrom([]int{0, 10, 700, 2500}).Draw(t, "lines") {
			fmt.Fprintf(&b, line+"\r\n", i%1000)
		}
	}
	return b.Bytes()
}

// TestSnapshotPages: any state whose pages are stored elsewhere is the same
// after a snapshot and a restore, and continues the same.
func TestSnapshotPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		o.HistoryLines = rapid.SampledFrom([]int{0, 0, 0, -1, 50, 3000}).Draw(t, "history lines")
		pages := &memoryPages{pages: map[uint64][]byte{}}
		o.Pages = pages
		term := mustNewRapid(t, o)
		input := drawLong(t)
		term.Write(input)
		if rapid.Bool().Draw(t, "resized") {
			if err := term.Resize(rapid.IntRange(2, 40).Draw(t, "cols"), rapid.IntRange(1, 12).Draw(t, "rows")); err != nil {
				t.Fatal(err)
			}
			term.Write(drawInput(t, 8))
		}
		snapshot := term.SnapshotPages()
		o.Cols, o.Rows = term.Size()
		o.Pages = pages.clone()
		back, err := vt.Restore(snapshot, o)
		if err != nil {
			t.Fatal(err)
		}
		if d := diffStates(stateOf(term), stateOf(back)); d != "" {
			t.Fatalf("%+v %d bytes, restored:\n%s", o, len(input), d)
		}
		cols, rows := rapid.IntRange(2, 40).Draw(t, "cols then"), rapid.IntRange(1, 12).Draw(t, "rows then")
		if err := errors.Join(term.Resize(cols, rows), back.Resize(cols, rows)); err != nil {
			t.Fatal(err)
		}
		if d := diffStates(stateOf(term), stateOf(back)); d != "" {
			t.Fatalf("%+v after a resize to %dx%d:\n%s", o, cols, rows, d)
		}
		more := drawLong(t)
		term.Write(more)
		back.Write(more)
		if d := diffStates(stateOf(term), stateOf(back)); d != "" {
			t.Fatalf("%+v after %d bytes more:\n%s", o, len(more), d)
		}
	})
}

func (p *memoryPages) clone() *memoryPages {
	c := &memoryPages{pages: map[uint64][]byte{}, next: p.next}
	for n, b := range p.pages {
		c.pages[n] = b
	}
	return c
}

// TestSnapshotIsSmall: with Pages its size does not grow with the history.
func TestSnapshotIsSmall(t *testing.T) {
	pages := &memoryPages{pages: map[uint64][]byte{}}
	o := vt.Options{Cols: 120, Rows: 40, Pages: pages}
	term := mustNew(t, o)
	for i := range 100_000 {
		fmt.Fprintf(term, "%d %s\r\n", i, strings.Repeat("x", 94))
	}
	if n := len(term.SnapshotPages()); n > 100<<10 {
		t.Errorf("%d bytes with %d pages in files", n, len(pages.pages))
	}
	reads := &countingPages{memoryPages: pages}
	o.Pages = reads
	back, err := vt.Restore(term.SnapshotPages(), o)
	if err != nil {
		t.Fatal(err)
	}
	if back.HistoryLen() != term.HistoryLen() || back.ScreenText() != term.ScreenText() || reads.n != 0 {
		t.Errorf("%d lines, before %d; %d pages read", back.HistoryLen(), term.HistoryLen(), reads.n)
	}
	if back.Text(vt.TextOptions{}) != term.Text(vt.TextOptions{}) {
		t.Error("the history is another one")
	}
}

type countingPages struct {
	*memoryPages
	n int
}

func (p *countingPages) Read(n uint64) ([]byte, error) {
	p.n++
	return p.memoryPages.Read(n)
}

// TestPagesLost: a page that cannot be read back leaves one line that says so,
// and nothing else differs, in any form the history is shown.
func TestPagesLost(t *testing.T) {
	for name, spoil := range map[string]func(p *memoryPages, n uint64){
		"gone":   func(p *memoryPages, n uint64) { delete(p.pages, n) },
		"zero":   func(p *memoryPages, n uint64) { p.pages[n] = make([]byte, len(p.pages[n])) },
		"cut":    func(p *memoryPages, n uint64) { p.pages[n] = p.pages[n][:len(p.pages[n])/2] },
		"longer": func(p *memoryPages, n uint64) { p.pages[n] = append(p.pages[n], 0) },
	} {
		pages := &memoryPages{pages: map[uint64][]byte{}}
		term := mustNew(t, vt.Options{Cols: 60, Rows: 5, Pages: pages})
		var want []string
		for i := range 4500 {
			want = append(want, fmt.Sprintf("line %d of what was written", i))
		}
		term.Write([]byte(strings.Join(want, "\r\n")))
		spoil(pages, 2)
		got := strings.Split(term.Text(vt.TextOptions{}), "\n")
		at := 0
		for at < len(got) && got[at] == want[at] {
			at++
		}
		lost := len(want) - len(got) + 1
		if at == len(got) || got[at] != fmt.Sprintf("[lost: %d lines of history]", lost) {
			t.Fatalf("%s: line %d is %q with %d lines missing", name, at, got[min(at, len(got)-1)], lost)
		}
		if strings.Join(got[at+1:], "\n") != strings.Join(want[at+lost:], "\n") {
			t.Errorf("%s: what follows the gap is not as written", name)
		}
		if term.HistoryLost() != lost || term.HistoryLen() != len(got)-5 {
			t.Errorf("%s: HistoryLost %d, HistoryLen %d, shown %d", name, term.HistoryLost(), term.HistoryLen(), len(got))
		}
		if n := strings.Count(string(term.ANSI()), "[lost: "); n != 1 {
			t.Errorf("%s: %d marks in the dump", name, n)
		}
		if err := term.Resize(40, 2000); err != nil {
			t.Fatal(err)
		}
		joined := term.Text(vt.TextOptions{Join: true})
		if joined != strings.Join(got, "\n") {
			t.Errorf("%s: resized, joined and not the same", name)
		}
	}
}

// TestSnapshotVersions: every version ever written is readable, others are
// rejected.
func TestSnapshotVersions(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 20, Rows: 3})
	term.Write([]byte("one\r\ntwo\r\nthree\r\nfour"))
	want := stateOf(term)
	for name, b := range map[string][]byte{
		"1": term.Snapshot(), "2": term.SnapshotPages(),
		"1 as first written": []byte("gcvt\x01\x1bone\r\ntwo\r\nthree\r\nfour\x1b[3;5H" +
			`{"version":1,"cols":20,"rows":3,"revision":2}`),
	} {
		back, err := vt.Restore(b, vt.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := diffStates(want, stateOf(back)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for name, b := range map[string]string{
		"3": "gcvt\x03\x00\x00{}", "pages cut": "gcvt\x02\x20\x00", "no page": "gcvt\x02\x04\x00\x00\x01\x01\x00" + `{"cols":20,"rows":3}`,
		"other": "gczz\x01\x00{}", "empty": "",
	} {
		if _, err := vt.Restore([]byte(b), vt.Options{}); !errors.Is(err, vt.ErrSnapshot) {
			t.Errorf("%s: %v, want ErrSnapshot", name, err)
		}
	}
}

// TestSnapshotOfSavedCursor: a cursor saved below a screen that has since
// become smaller is the same in a snapshot.
func TestSnapshotOfSavedCursor(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 40, Rows: 10})
	term.Write([]byte("\n\n\n\n\x1b[?1049htext"))
	if err := term.Resize(10, 3); err != nil {
		t.Fatal(err)
	}
	back, err := vt.Restore(term.SnapshotPages(), vt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, both := range []*vt.Terminal{term, back} {
		if err := both.Resize(10, 4); err != nil {
			t.Fatal(err)
		}
		both.Write([]byte("\x1b[?1049l"))
	}
	if d := diffStates(stateOf(term), stateOf(back)); d != "" {
		t.Error(d)
	}
}
