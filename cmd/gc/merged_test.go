package main

import (
	"bytes"
	"testing"
)

// Lines of all names begin at the same column, and hold nothing that a terminal
// would obey.
func TestMergedLines(t *testing.T) {
	var b bytes.Buffer
	m := newMerged(&b, false, "a", "漢字")
	for _, err := range []error{
		m.output("a", "plain"), m.output("漢字", "wide"), m.output("a", ""), m.output("a", "\x1b[31mred"), m.note("漢字", "ended", red),
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
