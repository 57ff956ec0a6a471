package vt_test

import (
	"fmt"
	"testing"

	"gascity.dev/gc/vt"
)

func TestSearchPlaces(t *testing.T) {
	term, err := vt.New(vt.Options{Cols: 10, Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	// The first line is wrapped and ends in the history; 漢 takes two columns.
	term.Write([]byte("abcdefghijKLM\r\nfoo 漢 foo\r\nbar\r\nfoo"))
	for _, c := range []struct {
		o    vt.SearchOptions
		want string
	}{
		{vt.SearchOptions{Pattern: "foo"}, "[2,0-2,3 0,7-0,10 0,0-0,3]"},
		{vt.SearchOptions{Pattern: "foo", Limit: 1}, "[2,0-2,3]"},
		{vt.SearchOptions{Pattern: "ijKL"}, "[-2,8--1,2]"},
		{vt.SearchOptions{Pattern: "klm"}, "[]"},
		{vt.SearchOptions{Pattern: "klm", IgnoreCase: true}, "[-1,0--1,3]"},
		{vt.SearchOptions{Pattern: "^ba.$", Regexp: true}, "[1,0-1,3]"},
		{vt.SearchOptions{Pattern: "漢 f"}, "[0,4-0,8]"},
		{vt.SearchOptions{Pattern: "o\nb"}, "[]"},
		{vt.SearchOptions{Pattern: "x*", Regexp: true}, "[]"},
	} {
		found, err := term.Search(c.o)
		if err != nil {
			t.Fatalf("%+v: %v", c.o, err)
		}
		var got []string
		for _, m := range found {
			got = append(got, fmt.Sprintf("%d,%d-%d,%d", m.Row, m.Col, m.EndRow, m.EndCol))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%+v: %v, want %s", c.o, got, c.want)
		}
	}
	if _, err := term.Search(vt.SearchOptions{Pattern: "(", Regexp: true}); err == nil {
		t.Error("an invalid expression is not an error")
	}
}

// TestPack: a packed terminal reads and continues as if it had not been packed.
func TestPack(t *testing.T) {
	for _, input := range []string{
		"", "plain", "\x1b[31mred\x1b[44m 漢字 \x1b]8;;http://a\ae\u0301\x1b]8;;\a\r\n\x1b[2;5r\x1b[?69h",
		"main\x1b[?1049halt\x1b[5;5Hx", "a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng\x1b[?2026hh",
	} {
		a, _ := vt.New(vt.Options{Cols: 12, Rows: 4})
		b, _ := vt.New(vt.Options{Cols: 12, Rows: 4})
		a.Write([]byte(input))
		b.Write([]byte(input))
		for _, more := range []string{"", "more", "\x1b[?1049l", "\x1b[?2026l"} {
			a.Write([]byte(more))
			b.Write([]byte(more))
			b.Pack()
			if more == "more" { // packed twice, read, resized
				b.Pack()
				if err := b.Resize(9, 5); err != nil {
					t.Fatal(err)
				}
				if err := a.Resize(9, 5); err != nil {
					t.Fatal(err)
				}
			}
			if x, y := fmt.Sprint(a.Screen()), fmt.Sprint(b.Screen()); x != y {
				t.Errorf("%q, %q: %s, packed %s", input, more, x, y)
			}
			b.Pack()
			if x, y := string(a.ANSI()), string(b.ANSI()); x != y {
				t.Errorf("%q, %q: %q, packed %q", input, more, x, y)
			}
		}
	}
}
