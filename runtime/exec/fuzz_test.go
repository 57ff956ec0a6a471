package exec

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gascity.dev/gc/runtime"
)

// Whatever a script prints, the result is well-formed or an error.
func FuzzOutput(f *testing.F) {
	for _, seed := range []string{
		"true", "false\n", "True\n", "true\x00", "\xff\xfe", "a\nb\n-c\n.d\n a\n", "2026-01-02T03:04:05Z\n", "2026-01-02T03:04:05.123+02:00",
		`{"version":1,"capabilities":["proc.exec"]}`, `{"version":"1"}`, `[]`, "null", `{"state":"submitted"}`, `{"state":"maybe"}`,
		`{"code":137,"signal":"SIGKILL","time":"2026-01-02T03:04:05Z"}`, "\x1b[31mred\x1b[0m", "\x1b]0;t\x07x", "\x1b]0;open", "\x1b", "\x1b[", "\x1bP1\x1b\\y", "\u009b31m",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		if v, err := parseBool(out); err == nil && strings.TrimRight(string(out), "\n") != map[bool]string{true: "true", false: "false"}[v] {
			t.Errorf("%q is %v", out, v)
		}
		names, err := parseNames(out, "")
		for _, name := range names {
			if err != nil || runtime.CheckName(name) != nil || !strings.Contains(string(out), name) {
				t.Errorf("name %q, %v", name, err)
			}
		}
		if at, err := parseTime(out); err != nil && !at.IsZero() {
			t.Errorf("%v, %v", at, err)
		}
		if r, ok := parseReceipt(out); ok == (r.State == "") {
			t.Errorf("%+v, %v", r, ok)
		}
		if e, err := parseExit(out); err != nil && e != nil {
			t.Errorf("%+v, %v", e, err)
		}
		if h, err := parseHandshake(out); (err == nil) != (h != nil) {
			t.Errorf("%+v, %v", h, err)
		}
		for _, r := range plain(string(out)) {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Errorf("%U of %q came through", r, out)
			}
		}
		if m := message(out); strings.ContainsAny(m, "\n\x1b") || !utf8.ValidString(m) || len(m) > 1010 {
			t.Errorf("message %q", m)
		}
	})
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[1;31mb\x1b[0mc": "abc", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x07": "link", "\x1b(B\x1b7x\x1b=": "x",
		"tab\tstays\r\n": "tab\tstays\n", "bell\a": "bell", "日本 é │": "日本 é │", "\x1b]0;unended\nnext": "\nnext", "\xff": "\uFFFD",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// A reader leaves with the detach keys in every encoding, however they are split.
func TestLeaver(t *testing.T) {
	for _, c := range []struct {
		spec, typed string
		want        bool
	}{
		{"ctrl-b d", "\x02d", true}, {"ctrl-b d", "text\x02\x02d", true}, {"ctrl-b d", "\x02xd", false}, {"ctrl-b d", "d\x02", false},
		{"ctrl-b d", "\x1b[98;5ud", true}, {"ctrl-b d", "\x1b[98;5u\x1b[100u", true}, {"ctrl-b d", "\x1b[27;5;98~d", true},
		{"ctrl-q,x", "\x11x", true}, {"ctrl-q", "ab\x11", true}, {"ctrl-q", "ab\x1b[A\x1b[113;5u", true}, {"none", "\x02d", false},
	} {
		l, err := parseLeaver(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		got := false
		for i := range len(c.typed) {
			got = got || l.feed([]byte{c.typed[i]})
		}
		if got != c.want {
			t.Errorf("%s: %q: %v", c.spec, c.typed, got)
		}
	}
	for _, spec := range []string{"a b c", "ctrl-", "F1 x", " "} {
		if _, err := parseLeaver(spec); err == nil {
			t.Errorf("%q was taken", spec)
		}
	}
}
