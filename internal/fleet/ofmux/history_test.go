package ofmux

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// served answers requests as the server does, and counts the lines that it sent.
func served(term *vt.Terminal, sent *int) func(api.HistoryRequest) (api.HistoryResult, error) {
	return func(r api.HistoryRequest) (api.HistoryResult, error) {
		out := api.HistoryResult{First: term.HistoryFirst(), Closed: term.HistoryTotal()}
		out.From = max(r.From, out.First)
		for n := out.From; len(out.Lines) < r.Count; n++ {
			l, ok := term.HistoryLine(n)
			if !ok {
				break
			}
			out.Lines = append(out.Lines, l)
		}
		*sent += len(out.Lines)
		if r.Screen {
			screen := term.Screen()
			out.Screen = &screen
			if l, ok := term.OpenLine(); ok && !screen.Modes.AltScreen {
				out.Open = &l
			}
		}
		if r.Find != "" {
			from := r.From
			for {
				found, next, ok, done := term.FindLine(r.Find, r.Fold, from, r.Back, 100)
				if ok {
					out.Found = &found
				}
				if ok || done {
					break
				}
				from = next
			}
		}
		return out, nil
	}
}

// pages reads a history page by page.
func pages(t *testing.T, term *vt.Terminal, p fleet.Page) (all []fleet.HistoryLine, sent int) {
	t.Helper()
	read := served(term, &sent)
	for n := 0; ; n++ {
		now, _ := read(api.HistoryRequest{Screen: true})
		h, err := pageOf(&now, p, read)
		if err != nil || n > 10_000 {
			t.Fatalf("page %d: %v", n, err)
		}
		if len(h.Lines) > p.Lines {
			t.Fatalf("a page of %d rows", len(h.Lines))
		}
		all = append(slices.Clone(h.Lines), all...)
		if !h.More || len(h.Lines) == 0 {
			return all, sent
		}
		p.Before = h.Lines[0].N
	}
}

// trimmed are the characters of rows with their renditions, without blanks at the end, which are
// kept where a program wrote them, and without links, which lines of a history do not have.
func trimmed(rows []fleet.HistoryLine) (out []string) {
	for _, r := range rows {
		var b strings.Builder
		for _, run := range r.Line.Runs {
			for _, c := range run.Text {
				if style := run.Style; style != (vt.Style{}) {
					fmt.Fprintf(&b, "%v", style)
				}
				b.WriteRune(c)
			}
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// text is what rows show.
func text(rows []fleet.HistoryLine) (out []string) {
	for _, r := range rows {
		var b strings.Builder
		for _, run := range r.Line.Runs {
			b.WriteString(run.Text)
		}
		out = append(out, b.String())
	}
	return out
}

// TestHistoryOfRecordings: the rows of all pages, of any length, are those that the terminal has
// when everything is read at once, and their numbers grow.
func TestHistoryOfRecordings(t *testing.T) {
	files, err := filepath.Glob("../../../vt/testdata/recordings/*.raw")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	for i, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		term, err := vt.New(vt.Options{Cols: 40 + i, Rows: 5 + i%10})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = term.Write(raw) // never fails
		all, _ := pages(t, term, fleet.Page{Lines: 1 + i})
		if !slices.IsSortedFunc(all, func(a, b fleet.HistoryLine) int { return int(a.N) - int(b.N) }) {
			t.Errorf("%s: the numbers do not grow", file)
		}
		if term.Modes().AltScreen {
			continue // what is read at once has no mark between history and screen
		}
		want, err := historyOf(string(term.AppendRows(nil, true)), term.Screen().Cols, fleet.Page{Lines: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := trimmed(all), trimmed(want.Lines); !slices.Equal(a, b) {
			t.Errorf("%s:\n%q\nwant\n%q", file, a, b)
		}
	}
}

// TestHistoryReadsThePage: of a long history only the lines of a page are read, and a row keeps
// its number while it moves from the screen into the history, also when the oldest lines go.
func TestHistoryReadsThePage(t *testing.T) {
	term, err := vt.New(vt.Options{Cols: 20, Rows: 5, HistoryLines: 3000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		fmt.Fprintf(term, "line %d\r\n", i)
		if i%100 == 0 {
			fmt.Fprintf(term, "%s\r\n", strings.Repeat("wide 日本", 6)) // 54 columns: three rows of 20
		}
	}
	var sent int
	read := served(term, &sent)
	page := func(p fleet.Page) fleet.History {
		t.Helper()
		sent = 0
		now, _ := read(api.HistoryRequest{Screen: true})
		h, err := pageOf(&now, p, read)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	last := page(fleet.Page{Lines: 10})
	if len(last.Lines) != 10 || sent > 20 || !last.More || last.Lost == 0 || text(last.Lines)[9] != "line 4999" {
		t.Errorf("%d lines were sent for %+v", sent, last)
	}
	n := last.Lines[9].N
	for i := range 500 {
		fmt.Fprintf(term, "more %d\r\n", i)
	}
	if h := page(fleet.Page{Before: n + 1, Lines: 2}); sent > 10 || h.Lines[1].N != n || text(h.Lines)[1] != "line 4999" {
		t.Errorf("%d lines were sent for %+v", sent, h)
	}
	if h := page(fleet.Page{Search: "LINE 37", Lines: 7}); len(h.Lines) != 7 || !h.More || sent > 700 || text(h.Lines)[6] != "line 3799" {
		t.Errorf("%d lines were sent for %q", sent, text(h.Lines))
	}
	if h := page(fleet.Page{Search: "nothing"}); len(h.Lines) != 0 || h.More || sent != 0 {
		t.Errorf("%d lines were sent for %+v", sent, h)
	}
	if all, _ := pages(t, term, fleet.Page{Search: "日本", Lines: 3}); len(all) < 20*3 {
		t.Errorf("%d rows: %q", len(all), text(all))
	}
}
