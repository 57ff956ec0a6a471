package main

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"plain, ünïcode 漢字", "plain, ünïcode 漢字", "plain, ünïcode 漢字"},
		{"a\x1b[31mb", `a\x1b[31mb`, `a\x1b[31mb`},
		{"a\tb\nc", `a\tb\nc`, "a\tb\nc"},
		{"bell\a", `bell\a`, `bell\a`},
		{"\u009b31m", `\u009b31m`, `\u009b31m`},
		{"\x7f", `\x7f`, `\x7f`},
		{"a\u202eb", `a\u202eb`, `a\u202eb`},
		{"a\u2028b", `a\u2028b`, `a\u2028b`},
		{"broken \xff\xfe", "broken \ufffd\ufffd", "broken \ufffd\ufffd"},
	} {
		if got := cleanLine(c.in); got != c.line {
			t.Errorf("cleanLine(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := cleanText(c.in); got != c.text {
			t.Errorf("cleanText(%q) = %q, want %q", c.in, got, c.text)
		}
	}
}

// Whatever a program says, what is printed holds no control character.
func TestCleanAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		for _, out := range []string{cleanLine(in), strings.NewReplacer("\n", "", "\t", "").Replace(cleanText(in))} {
			if !utf8.ValidString(out) || strings.ContainsFunc(out, unicode.IsControl) {
				t.Fatalf("%q became %q", in, out)
			}
		}
	})
}

func TestAgo(t *testing.T) {
	now := time.Unix(1e9, 0)
	for want, d := range map[string]time.Duration{
		"0s": 0, "59s": 59900 * time.Millisecond, "1m": 60 * time.Second, "59m": 3599 * time.Second,
		"47h": 47 * time.Hour, "2d": 48 * time.Hour,
	} {
		if got := ago(now.Add(-d), now); got != want {
			t.Errorf("ago(%v) = %s, want %s", d, got, want)
		}
	}
	if got := ago(now.Add(time.Hour), now); got != "0s" {
		t.Errorf("a clock that was set back gives %s", got)
	}
	if got := ago(time.Time{}, now); got != "-" {
		t.Errorf("no time gives %s", got)
	}
}

func TestShellLine(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want string
	}{
		{nil, ""},
		{[]string{"make && make test"}, "make && make test"},
		{[]string{"sh", "-c", "echo $HOME"}, "exec sh -c 'echo $HOME'"},
	} {
		if got := shellLine(c.argv); got != c.want {
			t.Errorf("shellLine(%q) = %q, want %q", c.argv, got, c.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string][2]int{
		"120x40": {120, 40}, "1x1": {1, 1}, "": {}, "80": {}, "80x": {}, "x24": {}, "80x24x3": {}, "80x24 ": {}, "-1x5": {}, "0x0": {}, "80,24": {},
	} {
		cols, rows, err := parseSize(in)
		if (err != nil) != (want == [2]int{}) || err == nil && [2]int{cols, rows} != want {
			t.Errorf("parseSize(%q) = %d, %d, %v", in, cols, rows, err)
		}
	}
}
