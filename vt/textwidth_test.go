package vt

import "testing"

func TestFitText(t *testing.T) {
	for _, c := range []struct {
		text string
		cols int
		fits string
		all  int // columns of the whole text
	}{
		{"", 3, "", 0},
		{"plain", 3, "pla", 5},
		{"漢字", 3, "漢", 4},
		{"e\u0301a", 1, "e\u0301", 2},
		{"👩‍👩‍👧x", 2, "👩‍👩‍👧", 3},
		{"a", 0, "", 1},
	} {
		fits, width := FitText(c.text, c.cols)
		if fits != c.fits || width != TextWidth(fits) {
			t.Errorf("FitText(%q, %d) = %q, %d", c.text, c.cols, fits, width)
		}
		if got := TextWidth(c.text); got != c.all {
			t.Errorf("TextWidth(%q) = %d, want %d", c.text, got, c.all)
		}
	}
}
