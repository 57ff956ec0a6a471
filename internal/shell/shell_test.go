package shell

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestWord(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "--x=1": "'--x=1'", "a\nb": "'a\nb'"} {
		if got := Word(in); got != want {
			t.Errorf("%q gives %s", in, got)
		}
	}
}

func TestUnquote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a' "\n\\$]*`).Draw(t, "s")
		if got, ok := Unquote(Quote(s)); !ok || got != s {
			t.Fatalf("%q, %v of %q", got, ok, s)
		}
	})
	for _, s := range []string{"", "'", "a", "'a", "'a'b'", "'a' 'b'"} {
		if got, ok := Unquote(s); ok {
			t.Errorf("%s gives %q", s, got)
		}
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"agent":                         {"agent"},
		"exec /bin/agent  --x=1 -":      {"/bin/agent", "--x=1", "-"},
		`agent 'it'\''s one' \$HOME é^`: {"agent", "it's one", "$HOME", "é^"},
		"agent ''":                      {"agent", ""},
		"exec":                          {"exec"},
	} {
		if got, ok := Words(line); !ok || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", line, got, ok)
		}
	}
	for _, line := range []string{
		"", " ", "a; b", "a | b", "a $b", `a "b"`, "a *", "a > b", "a 'b", "A=1 b", "a &", "a\nb", "~/a", "a #b", "a `b`", "(a)", "a {b,c}", "! a",
	} {
		if got, ok := Words(line); ok {
			t.Errorf("%q needs a shell, not %q", line, got)
		}
	}
}
