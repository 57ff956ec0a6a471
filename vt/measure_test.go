package vt_test

import (
	"testing"

	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// TestCharacter: text of characters with columns of their own takes on a terminal
// the columns that Character says.
func TestCharacter(t *testing.T) {
	alphabet := []rune("ab \u00a0漢é\u0301\u0308\u200b\u200d\ufeff\u00ad👩👨👧💻🏳🌈👍🏽🇩🇪🇫\ufe0f\ufe0e❤☀\u20e3#1한\u1100\u1161\u11a8\u0915\u094d\u0937\u0903\u0e33ب\u0600\U000e0041\u2028")
	rapid.Check(t, func(t *rapid.T) {
		rest := []byte(string(rapid.SliceOfN(rapid.SampledFrom(alphabet), 1, 12).Draw(t, "text")))
		var text []byte
		for len(rest) > 0 {
			n, cols := vt.Character(rest)
			if cols > 0 {
				text = append(text, rest[:n]...)
			}
			rest = rest[n:]
		}
		want := 0
		for rest = text; len(rest) > 0; {
			n, cols := vt.Character(rest)
			want += cols
			rest = rest[n:]
		}
		term := mustNewRapid(t, vt.Options{Cols: 80, Rows: 2})
		term.Write(append([]byte("> "), text...))
		if got := term.Cursor().Col - 2; got != want {
			t.Fatalf("%q takes %d columns, Character says %d", text, got, want)
		}
	})
}

func TestCharacterOfControls(t *testing.T) {
	for _, text := range []string{"\x01a", "\x1b[m", "\n", "\x7f", "\u0085", "\u0301a"} {
		if n, cols := vt.Character([]byte(text)); n == 0 || cols != 0 {
			t.Errorf("%q: %d bytes, %d columns", text, n, cols)
		}
	}
}
