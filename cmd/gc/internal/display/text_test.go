package display

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
		if got := Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := Text(c.in); got != c.text {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.text)
		}
	}
}

// Whatever a program prints, the cleaned text has no control characters.
func TestCleanAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		for _, out := range []string{Line(in), strings.NewReplacer("\n", "", "\t", "").Replace(Text(in))} {
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
		if got := Ago(now.Add(-d), now); got != want {
			t.Errorf("Ago(%v) = %s, want %s", d, got, want)
		}
	}
	if got := Ago(now.Add(time.Hour), now); got != "0s" {
		t.Errorf("a clock that was set back gives %s", got)
	}
	if got := Ago(time.Time{}, now); got != "-" {
		t.Errorf("no time gives %s", got)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"", 10, ""},
		{"a few  words", 0, "a few  words"},
		{"one two three", 7, "one two|three"},
		{"日本 語", 4, "日本|語"},
		{"a unbreakable b", 4, "a|unbreakable|b"},
	} {
		if got := strings.Join(Wrap(c.line, c.width), "|"); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.line, c.width, got, c.want)
		}
	}
}
