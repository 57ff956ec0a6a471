package nearest

import "testing"

func TestOf(t *testing.T) {
	words := []string{"agents", "rigs", "session", "daemon"}
	for typed, want := range map[string]string{"agnets": "agents", "sesion": "session", "rig": "rigs", "zzz": "", "": ""} {
		if got := Of(typed, words); got != want {
			t.Errorf("Of(%q) = %q, want %q", typed, got, want)
		}
	}
	if got := Of("ab", []string{"ax", "ac"}); got != "ac" {
		t.Errorf("of equally close words %q, want the first in byte order", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"peek", "peke", 1}, {"status", "stat", 2}, {"abc", "xyz", 3}} {
		if got := Distance(c.a, c.b); got != c.want || Distance(c.b, c.a) != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
