package vt_test

import (
	"testing"

	"gascity.dev/gc/vt"
)

// TestResizeRestored: a restored terminal also has the same rows as the
// original at another size.
func TestResizeRestored(t *testing.T) {
	for _, input := range []string{
		"  \x1b[2;2H漢\x1b[L\x1b8", // a blank row that left its column to a wide character now gone
		"  \x1b[2;2H漢\x1b[L\x1b[?1049h",
		"\x1b[?47h  \x1b[2;2H漢\x1b[L\x1b[?47l",
	} {
		o := vt.Options{Cols: 2, Rows: 3}
		term := mustNew(t, o)
		term.Write([]byte(input))
		back, err := vt.Restore(term.Snapshot(), o)
		if err != nil {
			t.Fatal(err)
		}
		if term.Resize(2, 1) != nil || back.Resize(2, 1) != nil {
			t.Fatal("resize failed")
		}
		if d := diffStates(stateOf(term), stateOf(back)); d != "" {
			t.Errorf("%q:\n%s", input, d)
		}
	}
}
