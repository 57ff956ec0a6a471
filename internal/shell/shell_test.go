package shell

import (
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
