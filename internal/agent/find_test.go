package agent

import (
	"errors"
	"testing"
)

func TestFind(t *testing.T) {
	city := specs(t, t.TempDir(), `
[[agents]]
name = "boss"
start_command = "x"
[[agents]]
name = "w"
dir = "east"
start_command = "x"
[[agents]]
name = "w"
dir = "west"
start_command = "x"
[[agents]]
name = "pool"
dir = "east"
start_command = "x"
pool = {min = 1, max = 2, namepool = ["ann"]}
`)[0].City
	for _, c := range []struct{ name, found, msg, hint string }{
		{"boss", "boss", "", ""},
		{"east/w", "east/w", "", ""},
		{"w", "", `several agents are named "w"`, "use the full name, such as east/w"},
		{"east/ann", "east/ann", "", ""},
		{"ann", "east/ann", "", ""},
		{"pool-2", "east/pool-2", "", ""},
		{"pool-3", "", `no agent "pool-3" in city city: pool east/pool has at most 2 members`, "gc status shows the members"},
		{"pool-1", "", `no agent "pool-1" in city city: pool east/pool has at most 2 members`, "gc status shows the members"}, // ann has its place
		{"pool", "", "pool is a pool, not an agent", "name a member, such as east/ann"},
		{"bos", "", `no agent "bos" in city city`, "did you mean boss?"},
		{"xyz", "", `no agent "xyz" in city city`, "agents of this city: boss, east/w, west/w, east/pool"},
	} {
		s, err := Find(city, c.name, BuildOptions{})
		if c.found != "" {
			if err != nil || s.Name() != c.found {
				t.Errorf("Find(%q): %v, %v", c.name, s, err)
			}
			continue
		}
		var lookup *LookupError
		if !errors.As(err, &lookup) || lookup.Msg != c.msg || lookup.Help != c.hint {
			t.Errorf("Find(%q): %v, hint %+v", c.name, err, lookup)
		}
	}
}

// Members are a pool's minimum, and live ones above it.
func TestMembers(t *testing.T) {
	city := specs(t, t.TempDir(), `
[[agents]]
name = "a"
start_command = "x"
[[agents]]
name = "p"
start_command = "x"
pool = {min = 1, max = -1}
`)[0].City
	list, err := Members(city, BuildOptions{}, func(session string) bool { return session == "gc-city-p-3" })
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, s := range list {
		names += s.Name() + " "
	}
	if names != "a p-1 p-3 " {
		t.Errorf("members %s", names)
	}
}
