package vt_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// TestUnscroll: whatever was written and however the height changed, unscrolling loses only
// the last rows, and never brings back what the program scrolled away.
func TestUnscroll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols, rows := rapid.IntRange(2, 12).Draw(t, "cols"), rapid.IntRange(2, 8).Draw(t, "rows")
		term, err := vt.New(vt.Options{Cols: cols, Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 20).Draw(t, "lines") {
			fmt.Fprintf(term, "\r\n%d%s", i, rapid.StringOfN(rapid.SampledFrom([]rune("ab漢 ")), 0, 20, -1).Draw(t, "text"))
		}
		scrolled := term.Text(vt.TextOptions{Join: true})
		least := term.HistoryLen()
		for range rapid.IntRange(0, 3).Draw(t, "sizes") {
			if err := term.Resize(cols, rapid.IntRange(2, 8).Draw(t, "height")); err != nil {
				t.Fatal(err)
			}
			least = min(least, term.HistoryLen())
		}
		for range rapid.IntRange(1, 5).Draw(t, "times") {
			fmt.Fprintf(term, "\x1b[%d+T", rapid.IntRange(0, 9).Draw(t, "n"))
			if got := term.Text(vt.TextOptions{Join: true}); len(got) > len(scrolled) || got != scrolled[:len(got)] {
				t.Fatalf("%q is not the beginning of %q", got, scrolled)
			}
			if now := term.HistoryLen(); now < least {
				t.Fatalf("%d rows of history, were %d", now, least)
			}
		}
	})
}
