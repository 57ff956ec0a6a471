package vt_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// TestWidthOfEveryCharacter compares the width of every character, each in a
// cluster of its own, with displaywidth.
func TestWidthOfEveryCharacter(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 20, Rows: 2})
	wrong := 0
	for r := rune(0xa0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 || unicode.Is(unicode.Co, r) {
			continue
		}
		term.Write([]byte("\r\x1b[K" + string(r)))
		got := term.Cursor().Col
		want := displaywidth.Rune(r)
		if r == 0xad || unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r == 0x1171e || unicode.Is(unicode.Mc, r) && want == 0 {
			want = 1 // the soft hyphen is visible, as in every terminal; a lone spacing mark has its own column, and so have the signs before Arabic numbers
		}
		if got == want {
			continue
		}
		if wrong++; wrong < 40 {
			t.Errorf("U+%04X %q takes %d columns, displaywidth says %d", r, r, got, want)
		}
	}
	if wrong > 0 {
		t.Errorf("%d characters", wrong)
	}
}

// TestClusters compares cluster boundaries with uax29, over drawn text of
// characters that the rules of UAX 29 are about.
func TestClusters(t *testing.T) {
	alphabet := []rune("ab漢é\u0301\u0308\u200d👩👨👧💻🏳🌈👍🏽🇩🇪🇫\ufe0f\ufe0e❤☀\u20e3#1한\u1100\u1161\u11a8\u0915\u094d\u0937\u0903\u0e33ب\u0308")
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SliceOfN(rapid.SampledFrom(alphabet), 1, 8).Draw(t, "runes")
		text := "x" + string(runes)
		term := mustNewRapid(t, vt.Options{Cols: 80, Rows: 2})
		term.Write([]byte(text))
		var want []string
		for g := graphemes.FromString(text); g.Next(); {
			want = append(want, g.Value())
		}
		got := clustersOf(term)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%+q is in cells %+q, uax29 says %+q", text, got, want)
		}
	})
}

// clustersOf reads the clusters one by one by erasing from the left, column by
// column: half a cluster does not stay.
func clustersOf(term *vt.Terminal) (clusters []string) {
	for x := range term.Cursor().Col {
		before := strings.TrimLeft(term.Line(0), " ")
		fmt.Fprintf(term, "\r\x1b[%dX", x+1)
		rest := strings.TrimLeft(term.Line(0), " ")
		if cluster := strings.TrimSuffix(before, rest); cluster != "" {
			clusters = append(clusters, cluster)
		}
	}
	return clusters
}
