package display

import (
	"bytes"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"pgregory.net/rapid"
)

func TestTable(t *testing.T) {
	rows := [][]string{
		{"NAME", "STATE", "LAST"},
		{"a", "running (waits for everything)", ""},
		{"漢字", "x", "a last line that is long, and goes on"},
	}
	for width, want := range map[int]string{
		0: "NAME  STATE                           LAST\n" +
			"a     running (waits for everything)\n" +
			"漢字  x                               a last line that is long, and goes on\n",
		60: "NAME  STATE                           LAST\n" +
			"a     running (waits for everything)\n" +
			"漢字  x                               a last line that is l…\n",
		36: "NAME  STATE           LAST\n" +
			"a     running (wait…\n" +
			"漢字  x               a last line t…\n",
	} {
		tb := Table{Width: width}
		for _, r := range rows {
			tb.Add(r...)
		}
		var b bytes.Buffer
		if err := tb.Print(&b); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("width %d: got\n%swant\n%s", width, b.String(), want)
		}
	}
}

// However narrow the terminal is, no line is wider, and a wide one cuts nothing.
func TestTableFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`[a-z漢字é ]{0,30}`)
		columns := rapid.IntRange(1, 6).Draw(t, "columns")
		tb := Table{Width: rapid.IntRange(1, 250).Draw(t, "width")}
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			tb.Add(rapid.SliceOfN(cell, columns, columns).Draw(t, "row")...)
		}
		var b bytes.Buffer
		if err := tb.Print(&b); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if n := displaywidth.String(line); n > tb.Width {
				t.Fatalf("%d columns of %d: %q", n, tb.Width, line)
			}
		}
		if tb.Width > columns*62 && strings.Contains(b.String(), "…") {
			t.Fatalf("cut, although there is room:\n%s", b.String())
		}
	})
}

func TestTableColours(t *testing.T) {
	tb := Table{Colour: true}
	tb.Add("NAME", "STATE")
	tb.Add("a", "crashed")
	tb.Paint(1, Red)
	var b bytes.Buffer
	if err := tb.Print(&b); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[1mNAME\x1b[0m  \x1b[1mSTATE\x1b[0m\na     \x1b[31mcrashed\x1b[0m\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
