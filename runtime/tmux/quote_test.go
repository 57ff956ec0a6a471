package tmux

import (
	"testing"

	"pgregory.net/rapid"
)

// Different names stay different in tmux, and decode to themselves.
func TestNamesAreEncodedWithoutCollision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.StringMatching(`[A-Za-z0-9_][A-Za-z0-9._-]{0,20}`)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if (encodeName(a) == encodeName(b)) != (a == b) {
			t.Fatalf("%q and %q", a, b)
		}
		if back, ok := decodeName(encodeName(a)); !ok || back != a {
			t.Fatalf("%q came back as %q", a, back)
		}
	})
	if _, ok := decodeName(holder); ok {
		t.Fatal("the holder looks like a session of ours")
	}
}

func TestQuoteLine(t *testing.T) {
	got := quoteLine([]string{"set", "a b", "$x;'\"\\~\n\x01é"})
	want := `"set" "a b" "\044x\073\047\042\134\176\012\001\303\251"`
	if got != want {
		t.Fatalf("%s", got)
	}
}

func TestDefaultSocket(t *testing.T) {
	env := func(kv map[string]string) func(string) string { return func(k string) string { return kv[k] } }
	for _, c := range []struct {
		env        map[string]string
		city, want string
	}{
		{map[string]string{"GC_TMUX_SOCKET": "/s", "HOME": "/h"}, "/c", "/s"},
		{map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/h"}, "", "/x/gc/tmux/default"},
		{map[string]string{"XDG_STATE_HOME": "rel", "HOME": "/h"}, "", "/h/.local/state/gc/tmux/default"},
	} {
		if got, err := DefaultSocket(env(c.env), c.city); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	home := env(map[string]string{"HOME": "/h"})
	a, errA := DefaultSocket(home, "/a")
	b, errB := DefaultSocket(home, "/b")
	if a == b || errA != nil || errB != nil {
		t.Errorf("two cities share %q", a)
	}
	if _, err := DefaultSocket(env(nil), ""); err == nil {
		t.Error("no error without a home")
	}
}
