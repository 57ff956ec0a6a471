package display

import (
	"bytes"
	"testing"
)

// All lines start at the same column and hold nothing that a terminal would
// obey.
func TestMergedLines(t *testing.T) {
	var b bytes.Buffer
	m := NewMerged(&b, false, "a", "漢字")
	for _, err := range []error{
		m.Output("a", "plain"), m.Output("漢字", "wide"), m.Output("a", ""), m.Output("a", "\x1b[31mred"), m.Note("漢字", "ended", Red),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "a    | plain\n漢字 | wide\na    |\na    | \\x1b[31mred\n漢字 * ended\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
