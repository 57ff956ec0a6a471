package server

import (
	"fmt"
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// TestLineNumbers: every line has one number, whatever has scrolled off and however many
// lines are requested.
func TestLineNumbers(t *testing.T) {
	term, err := vt.New(vt.Options{Cols: 10, Rows: 4})
	if err != nil {
		t.Fatal(err)
	}
	if n := lineNumbers(term, ""); n != nil {
		t.Errorf("an empty screen: %+v", n)
	}
	for i := range 60 {
		word := fmt.Sprintf("line %d", i)
		if i%3 == 0 {
			word += strings.Repeat(" and more", i%7) // wraps over several rows
		}
		fmt.Fprintf(term, "%s\r\n", word)
		for _, ask := range []int{1, 2, 3, 7, 0} {
			text := term.Text(vt.TextOptions{Lines: ask, Join: true})
			n := lineNumbers(term, text)
			if n == nil {
				t.Fatalf("after line %d: no numbers", i)
			}
			for k, line := range strings.Split(text, "\n") {
				if want := fmt.Sprintf("line %d", n.First+uint64(k)); line != want && !strings.HasPrefix(line, want+" ") {
					t.Fatalf("after line %d, %d lines: line %d is %q (%+v)", i, ask, n.First+uint64(k), line, n)
				}
			}
			if n.Cursor != uint64(i)+1 || n.Closed > n.Cursor {
				t.Fatalf("after line %d: %+v", i, n)
			}
		}
	}
	fmt.Fprint(term, "\x1b[?1049hfull screen")
	if n := lineNumbers(term, term.Text(vt.TextOptions{Join: true})); n != nil {
		t.Errorf("the alternate screen: %+v", n)
	}
}
