package keys

import "testing"

func TestSequencesOfAPrefix(t *testing.T) {
	detach, _ := ParseDetach("C-b d")
	prefix, ok := detach.Prefix()
	if !ok || prefix.String() != "C-b" {
		t.Fatalf("the prefix is %v, %v", prefix, ok)
	}
	if single, _ := ParseDetach("C-q"); true {
		if _, ok := single.Prefix(); ok {
			t.Error("one key has a prefix")
		}
	}
	up, err := prefix.Then("PageUp")
	if err != nil {
		t.Fatal(err)
	}
	scroll, _ := prefix.Then("[")
	if _, err := prefix.Then("PageUpp"); err == nil {
		t.Error("an unknown key is no error")
	}
	for in, want := range map[string]struct {
		which         int
		forward, rest string
	}{
		"x\x02dy":         {0, "x", "y"},
		"\x02[/ls":        {1, "", "/ls"},
		"\x02\x1b[5~":     {2, "", ""},
		"\x02\x02[\x02[q": {1, "\x02[", "q"},
		"\x02z\x02d":      {0, "\x02z", ""},
		"\x02\x1b[98;5u":  {-1, "\x02", ""},
		"\x1b[200~\x02[":  {-1, "\x1b[200~\x02[", ""},
	} {
		m := NewDetachMatcher(detach, scroll, up)
		forward, found := m.Feed([]byte(in))
		which := -1
		if found {
			which = m.Which()
		}
		if which != want.which || string(forward) != want.forward || string(m.Rest()) != want.rest {
			t.Errorf("%q: %d, forwarded %q, behind %q; want %+v", in, which, forward, m.Rest(), want)
		}
	}
}
