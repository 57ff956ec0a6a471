package vt_test

import (
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// dumpCases are inputs that a dump or snapshot once got wrong, and what is
// written afterwards.
var dumpCases = []struct {
	name        string
	cols, rows  int
	input, more string
}{
	{"continuation overwritten by blanks", 5, 3, "             字漢\r\r    \x1b[0;5H     ", ""},
	{"pending wrap of the other screen", 2, 1, "\r \x1b[?47h           \x1b[A\x1b[?1049l     ", "\x1b[0m \x1b[?47h"},
	{"spacer pushed during an update", 2, 1, "      \x1b[?2026h                           漢", ""},
	{"letter of two bytes before a spacer", 2, 1, "ǅ漢\r!", ""},
	{"saved cursor that waits to wrap", 2, 1, "          \x1b7    ", "\x1b[?1049l"},
	{"saved cursor that waited, no wrapping now", 2, 1, "    \x1b7                                  \x1b[?7l", ""},
	{"saved cursor that waits, insert mode and the other screen", 4, 3, "abcd\x1b7\x1b[4h\x1b[?47habcd\x1b7", "x\x1b8y\x1b[?47l\x1b8z"},
	{"emoji presentation in the last column without wrapping", 2, 1, "       \x1b[?7l       ❤️", ""},
	{"character repeated in the British set", 2, 1, "  \x1b(A     \u009b", "b"},
	{"emoji modifier after a blank that was never written", 3, 1, "\r       \n🏻 ", ""},
	{"wcwidth policy in the line above an update", 5, 6, "        \n\x1b[?2027l   👨\u200d👩                    \x1b[?2026h", ""},
	{"presentation selector in insert mode", 7, 1, "\x1b[4h     \r  ❤️", "x"},
	{"saved cursor that waits behind a spacer", 9, 4, "\r                           \x1b7      AA\u3000", ""},
	{"saved cursor that waits behind what was never written", 2, 1, "    \x1b[?1048h\x1b[1;1H\r   \r", " \x1b8"},
	{"rendition of a place left to a wide character", 2, 2, "   \u3000\r\x1b[L\r\x1b[$t", ""},
	{"mark after the last column without wrapping", 4, 1, "  \x1b[?7l\x1b[1;4H ", "\u0903"},
	{"last character when UTF-8 is left", 8, 2, "\x1b%@\xe6", "\x1b[2b\xe7"},
	{"last character of UTF-8 before it is left", 8, 2, "漢\x1b%@", "\x1b[2b\xe7"},
	{"character set chosen in an update that began before a wrap", 2, 1, "ab\x1b[?2026h\x1b(0\r\n\r\n", "\x1b[?2026l"},
	{"wide character over a cluster", 2, 2, " Aǅ\r\x1b[2;2H字漢\x1b[A ", ""},
}

func TestDumpCases(t *testing.T) {
	for _, c := range dumpCases {
		t.Run(c.name, func(t *testing.T) {
			o := vt.Options{Cols: c.cols, Rows: c.rows}
			dumped, kept := mustNew(t, o), mustNew(t, o)
			dumped.Write([]byte(c.input))
			if d := checkDump(dumped, o, otherAlt([]byte(c.more))); d != "" {
				t.Error(d)
			}
			kept.Write([]byte(c.input))
			if d := checkSnapshot(kept, o, []byte(c.more)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestHistoryLenBackAgain: a line that left the screen at another width is
// counted when the first width is back.
func TestHistoryLenBackAgain(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 2, Rows: 1})
	for _, s := range []struct {
		text       string
		cols, rows int
	}{
		{strings.Repeat(" ", 14), 5, 6},
		{"\x1b[6;0H\r     ", 2, 1},
		{"\r       ", 6, 6},
		{"      \n", 2, 1},
	} {
		term.Write([]byte(s.text))
		if err := term.Resize(s.cols, s.rows); err != nil {
			t.Fatal(err)
		}
	}
	back, err := vt.Restore(term.Snapshot(), vt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := term.HistoryLen(), back.HistoryLen(); got != want {
		t.Fatalf("%d rows of history, restored %d", got, want)
	}
}

// TestFrozenTitle: during a synchronized update the screen as data has the
// title that Title returns, the previous one.
func TestFrozenTitle(t *testing.T) {
	term := mustNew(t, vt.Options{})
	term.Write([]byte("\x1b]2;before\a\x1b[?2026h"))
	rev := term.Revision()
	term.Write([]byte("\x1b]2;after\a"))
	if got := term.Screen().Title; got != "before" || term.Title() != "before" || term.Revision() != rev {
		t.Errorf("title %q, Title %q, revision %d -> %d", got, term.Title(), rev, term.Revision())
	}
	term.Write([]byte("\x1b[?2026l"))
	if got := term.Screen().Title; got != "after" || term.Title() != "after" || term.Revision() == rev {
		t.Errorf("after the update: title %q, Title %q, revision %d", got, term.Title(), term.Revision())
	}
}

// TestRunColumns: a run says how many columns each of its code points takes.
func TestRunColumns(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "", "é": "", "a漢b": "121", "e\u0301x": "101", "👩\u200d💻y": "2001",
	} {
		term, err := vt.New(vt.Options{Cols: 20, Rows: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = term.Write([]byte("\x1b[?2027h" + text))
		runs := term.Screen().Lines[0].Runs
		if len(runs) != 1 || runs[0].Text != text || runs[0].Columns != want {
			t.Errorf("%q: %+v, want %q", text, runs, want)
		}
	}
}
