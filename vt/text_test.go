package vt_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// drawListing draws coloured lines as programs write them, mixed with other
// input.
func drawListing(t *rapid.T) []byte {
	var b bytes.Buffer
	for range rapid.IntRange(1, 12).Draw(t, "lines") {
		for range rapid.IntRange(0, 20).Draw(t, "parts") {
			b.WriteString(rapid.StringMatching(`(\x1b\[(0|1|01;34|40;33;01||38;5;208|48;2;10;20;30|4:3)m)?[ -~]{0,12}`).Draw(t, "part"))
			b.WriteString(rapid.SampledFrom([]string{"", "", "", "", "\t", "\x1b[3C", "\x1b[K", "é", "漢", "\b", "\r", "\x1b[2K"}).Draw(t, "between"))
		}
		if rapid.IntRange(0, 5).Draw(t, "other") == 0 {
			b.Write(drawInput(t, 3))
		}
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

// TestSplitByReading: reading the screen while it is written has no effect; a
// row stays text until its attributes are read.
func TestSplitByReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		o.Cols = rapid.IntRange(vt.MinCols, 140).Draw(t, "columns")
		input := drawListing(t)
		unread, read := mustNewRapid(t, o), mustNewRapid(t, o)
		unread.Write(input)
		for rest := input; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 60)).Draw(t, "write")
			read.Write(rest[:n])
			read.Screen()
			rest = rest[n:]
		}
		for _, text := range []vt.TextOptions{{ScreenOnly: true}, {ScreenOnly: true, Join: true}} {
			if a, b := unread.Text(text), read.Text(text); a != b {
				t.Fatalf("%+v %q, %+v:\n%q, read\n%q", o, input, text, a, b)
			}
		}
		if a, b := unread.ScreenText(), read.Text(vt.TextOptions{ScreenOnly: true}); a != b {
			t.Fatalf("%+v %q:\n%q, read\n%q", o, input, a, b)
		}
		if a, b := unread.ANSI(), read.ANSI(); !bytes.Equal(a, b) {
			t.Fatalf("%+v %q:\n%q, read\n%q", o, input, a, b)
		}
		if d := diffStates(stateOf(unread), stateOf(read)); d != "" {
			t.Fatalf("%+v %q:\n%s", o, input, d)
		}
	})
}

// TestSGRAgain: a sequence has the same effect as before, whatever style is in
// force, and after more styles than there are numbers.
func TestSGRAgain(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 40, Rows: 2})
	show := func(input string) vt.Style {
		t.Helper()
		fmt.Fprint(term, "\x1b[m\x1b[H\x1b[2J"+input+"x                 ")
		return term.Screen().Lines[0].Runs[0].Style
	}
	for round := range 3 {
		for range 3 {
			for _, c := range []struct {
				input string
				want  vt.Style
			}{
				{"\x1b[01;34m", vt.Style{Bold: true, FG: "4"}},
				{"\x1b[7m\x1b[01;34m", vt.Style{Bold: true, FG: "4", Inverse: true}},
				{"\x1b[7m\x1b[0m\x1b[4m", vt.Style{Underline: vt.UnderlineSingle}},
				{"\x1b[38;5;208m\x1b[1m", vt.Style{Bold: true, FG: "208"}},
				{"\x1b[1m\x1b[m\x1b[4:3m", vt.Style{Underline: vt.UnderlineCurly}},
				{"\x1b[1m\x1b[>4m", vt.Style{Bold: true}},
				{"\x1b[1m\x1b[\x004m", vt.Style{Bold: true, Underline: vt.UnderlineSingle}},
				{"\x1b[38;2;100;200;201m", vt.Style{FG: "#64c8c9"}},
				{"\x1b[48;2;1;2;3m", vt.Style{BG: "#010203"}},
			} {
				if got := show(c.input); got != c.want {
					t.Errorf("round %d, %q: %+v, want %+v", round, c.input, got, c.want)
				}
			}
		}
		var b bytes.Buffer
		for i := range 70_000 {
			fmt.Fprintf(&b, "\x1b[H\x1b[38;2;%d;%d;%dmx", round, i>>8&255, i&255)
		}
		term.Write(b.Bytes())
	}
}
