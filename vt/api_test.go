package vt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

func TestSizesRefused(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {0, 5}, {5, 0}, {-1, 10}, {10, -1}, {2001, 10}, {10, 2001}, {10000, 10000}} {
		term := mustNew(t, vt.Options{Cols: 10, Rows: 3})
		term.Write([]byte("hello"))
		before, rev := stateOf(term), term.Revision()
		if err := term.Resize(size[0], size[1]); !errors.Is(err, vt.ErrSize) {
			t.Errorf("Resize%v: %v, want ErrSize", size, err)
		}
		if d := diffStates(before, stateOf(term)); d != "" || term.Revision() != rev {
			t.Errorf("Resize%v was refused and changed: %s", size, d)
		}
		if size[0] == 0 || size[1] == 0 { // the defaults of New
			continue
		}
		if _, err := vt.New(vt.Options{Cols: size[0], Rows: size[1]}); !errors.Is(err, vt.ErrSize) {
			t.Errorf("New%v: %v, want ErrSize", size, err)
		}
	}
}

func TestSizesAllowed(t *testing.T) {
	term := mustNew(t, vt.Options{})
	if cols, rows := term.Size(); cols != 80 || rows != 24 {
		t.Errorf("default size %dx%d", cols, rows)
	}
	for _, size := range [][2]int{{vt.MinCols, vt.MinRows}, {vt.MaxCols, vt.MaxRows}, {2, 2000}, {2000, 1}, {80, 24}} {
		if err := term.Resize(size[0], size[1]); err != nil {
			t.Errorf("Resize%v: %v", size, err)
		}
		term.Write([]byte("\x1b[999;999Hx漢\x1b[Hy"))
		checkShape(t, term)
	}
}

// memoryPages stores pages in a map, and fails on demand.
type memoryPages struct {
	pages   map[uint64][]byte
	next    uint64
	dropped int
	broken  bool
}

func (p *memoryPages) Append(page []byte) (uint64, error) {
	if p.broken {
		return 0, errors.New("no room")
	}
	p.next++
	p.pages[p.next] = append([]byte(nil), page...)
	return p.next, nil
}

func (p *memoryPages) Read(n uint64) ([]byte, error) {
	if b, ok := p.pages[n]; ok {
		return b, nil
	}
	return nil, errors.New("no such page")
}

func (p *memoryPages) Drop(n uint64) {
	delete(p.pages, n)
	p.dropped++
}

// fillHistory writes lines of various renditions, widths and lengths.
func fillHistory(term *vt.Terminal, n int) {
	for i := range n {
		fmt.Fprintf(term, "\x1b[3%dmline %d\x1b[0m %s 漢字 e\u0301 \x1b]8;;http://example.com/%d\alink\x1b]8;;\a\r\n", i%8, i, strings.Repeat("word ", i%40), i%7)
	}
}

// TestPages: the history is the same whether sealed pages are in memory or
// stored by the owner, and a page the owner cannot store stays in memory.
func TestPages(t *testing.T) {
	const lines = 5000
	inMemory := mustNew(t, vt.Options{Cols: 60, Rows: 5})
	fillHistory(inMemory, lines)
	want := stateOf(inMemory)
	for name, broken := range map[string]bool{"kept": false, "refused": true} {
		pages := &memoryPages{pages: map[uint64][]byte{}, broken: broken}
		term := mustNew(t, vt.Options{Cols: 60, Rows: 5, Pages: pages})
		fillHistory(term, lines)
		if !broken && len(pages.pages) == 0 {
			t.Errorf("%s: no page was ever sealed", name)
		}
		if d := diffStates(want, stateOf(term)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if err := term.Resize(33, 7); err != nil {
			t.Fatal(err)
		}
		if a, b := term.Text(vt.TextOptions{Join: true}), want.Joined; a != b {
			t.Errorf("%s: resized and joined, %d bytes, before %d", name, len(a), len(b))
		}
		term.ClearHistory()
		if term.HistoryLen() != 0 || len(pages.pages) > 0 {
			t.Errorf("%s: %d lines and %d pages after ClearHistory", name, term.HistoryLen(), len(pages.pages))
		}
	}
}

// TestHistoryCaps: lines and bytes are limited; the newest stay.
func TestHistoryCaps(t *testing.T) {
	byLines := mustNew(t, vt.Options{Cols: 200, Rows: 4, HistoryLines: 100})
	fillHistory(byLines, 1000)
	if n := byLines.HistoryLen(); n < 100 || n > 101 { // the oldest line, of two rows at most, is kept whole
		t.Errorf("%d rows of history, want 100", n)
	}
	pages := &memoryPages{pages: map[uint64][]byte{}}
	byBytes := mustNew(t, vt.Options{Cols: 200, Rows: 4, HistoryBytes: 256 << 10, Pages: pages})
	fillHistory(byBytes, 20000)
	kept := 0
	for _, p := range pages.pages {
		kept += len(p)
	}
	if kept > 256<<10 || pages.dropped == 0 {
		t.Errorf("%d bytes of pages kept and %d dropped, cap %d", kept, pages.dropped, 256<<10)
	}
	if n := byBytes.HistoryLen(); n < 500 {
		t.Errorf("only %d lines in 256 KiB", n)
	}
	for name, term := range map[string]*vt.Terminal{"lines": byLines, "bytes": byBytes} {
		text := strings.Split(term.Text(vt.TextOptions{Join: true}), "\n")
		last := "line 999 "
		if name == "bytes" {
			last = "line 19999 "
		}
		if !strings.HasPrefix(text[len(text)-1], last) {
			t.Errorf("%s: the newest line is %q", name, text[len(text)-1])
		}
	}
}

// TestHistoryModel compares the history with a plain list of lines.
func TestHistoryModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 30).Draw(t, "limit")
		term := mustNewRapid(t, vt.Options{Cols: 12, Rows: 3, HistoryLines: limit})
		var model []string
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				term.ClearHistory()
				model = model[max(0, len(model)-2):] // two lines and the cursor's are on the screen
			case 1:
				term.Write([]byte("\x1b[3J"))
				model = model[max(0, len(model)-2):]
			default:
				for range rapid.IntRange(1, 20).Draw(t, "lines") {
					line := rapid.StringMatching(`[a-z漢]{0,6}`).Draw(t, "line")
					model = append(model, line)
					term.Write([]byte(line + "\r\n"))
				}
			}
			model = model[max(0, len(model)-limit-2):]
			want := strings.TrimRight(strings.Join(model, "\n"), "\n")
			if got := strings.TrimRight(term.Text(vt.TextOptions{}), "\n"); got != want {
				t.Fatalf("limit %d: %q, want %q", limit, got, want)
			}
		}
	})
}

func TestScreenJSON(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 30, Rows: 4})
	term.Write([]byte("\x1b]2;title\a\x1b[1;4:3;38;2;1;2;3mbold\x1b[0m 漢 \x1b]8;;http://a/\alink\x1b]8;;\a\x1b[?1049h\x1b[?2004h\x1b[3 q\x1b[44mx"))
	want := term.Screen()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got vt.Screen
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("through JSON: %s\n%s", cmp.Diff(want, got), b)
	}
}

func TestTakenOnce(t *testing.T) {
	term := mustNew(t, vt.Options{})
	term.Write([]byte("\x1b[5n\a"))
	if r, e := term.TakeReplies(), term.TakeEvents(); string(r) != "\x1b[0n" || len(e) != 1 {
		t.Errorf("replies %q, events %v", r, e)
	}
	if r, e := term.TakeReplies(), term.TakeEvents(); len(r) != 0 || len(e) != 0 {
		t.Errorf("taken again: replies %q, events %v", r, e)
	}
}

func TestSearch(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 10, Rows: 3})
	term.Write([]byte("first needle\r\nnothing\r\nneedle Needle\r\n漢needle\r\nlast"))
	for _, c := range []struct {
		o    vt.SearchOptions
		want int
	}{
		{vt.SearchOptions{Pattern: "needle"}, 3},
		{vt.SearchOptions{Pattern: "n.edle"}, 0},
		{vt.SearchOptions{Pattern: "[nN]e+dle", Regexp: true}, 4},
		{vt.SearchOptions{Pattern: "needle", Limit: 1}, 1},
		{vt.SearchOptions{Pattern: "absent"}, 0},
	} {
		m, err := term.Search(c.o)
		if err != nil || len(m) != c.want {
			t.Errorf("%+v: %d matches %+v (%v), want %d", c.o, len(m), m, err, c.want)
		}
		for _, one := range m {
			if !strings.Contains(one.Context, one.Text) || one.Text == "" {
				t.Errorf("%+v: %+v", c.o, one)
			}
		}
	}
	if _, err := term.Search(vt.SearchOptions{Pattern: "(", Regexp: true}); err == nil {
		t.Error("an invalid expression is not an error")
	}
	// 漢needle is on the second row of the screen, after two columns.
	m, err := term.Search(vt.SearchOptions{Pattern: "needle", Limit: 1})
	if err != nil || len(m) != 1 || m[0].Row != 1 || m[0].Col != 2 {
		t.Errorf("the newest match is %+v (%v)", m, err)
	}
}

// TestSynchronizedUpdate: reads during an update see the screen before it, and
// the owner can end an update that takes too long.
func TestSynchronizedUpdate(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 10, Rows: 2})
	term.Write([]byte("before"))
	term.Write([]byte("\x1b[?2026h\r\x1b[2Kduring"))
	rev := term.Revision()
	if term.ScreenText() != "before" || term.Text(vt.TextOptions{}) != "before" || term.Line(0) != "before" {
		t.Errorf("read during an update: %q", term.ScreenText())
	}
	term.Write([]byte("\x1b[?2026l"))
	if term.ScreenText() != "during" || term.Revision() == rev {
		t.Errorf("after the update: %q, revision %d before and %d after", term.ScreenText(), rev, term.Revision())
	}
}

// TestUsage: a terminal that nothing was written to takes next to no memory.
func TestBlankIsSmall(t *testing.T) {
	const n = 200
	terms := make([]*vt.Terminal, n)
	before := keptHeap()
	for i := range terms {
		terms[i] = mustNew(t, vt.Options{Cols: 80, Rows: 24})
	}
	each := int64(keptHeap()-before) / n
	if each > 3<<10 {
		t.Errorf("a blank terminal takes %d bytes", each)
	}
	if terms[0].ScreenText() != "" {
		t.Error("a blank terminal has text")
	}
}
