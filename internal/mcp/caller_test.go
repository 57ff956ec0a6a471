package mcp

import (
	"errors"
	"maps"
	"slices"
	"testing"
)

// TestFindCaller: a program that was given nothing serves the session of the nearest
// process above it, at that session's multiplexer. What cannot be read proves nothing.
func TestFindCaller(t *testing.T) {
	type env = map[string]string
	session := env{"GC_SESSION_NAME": "s", "GC_MUX_SOCKET": "/m", "GC_CITY_PATH": "/c", "HOME": "/h", "TOKEN": "x"}
	outer := env{"GC_SESSION_NAME": "outer", "GC_MUX_SOCKET": "/outer"}
	for name, c := range map[string]struct {
		own    env
		chain  []env // from the parent up; nil: cannot be read
		broken bool  // the last one's parent is not known
		want   Caller
		socket string
		home   string
	}{
		"all is given":           {own: env{"GC_SESSION_NAME": "s", "GC_MUX_SOCKET": "/m"}, chain: []env{outer}, want: Caller{Name: "s"}},
		"nothing is given":       {chain: []env{{}, session, outer}, want: Caller{Name: "s", Environ: []string{"GC_CITY_PATH=/c", "GC_MUX_SOCKET=/m", "GC_SESSION_NAME=s"}}, socket: "/m", home: "/h"},
		"one cannot be read":     {chain: []env{nil, session}, want: Caller{Name: "s", Environ: []string{"GC_CITY_PATH=/c", "GC_MUX_SOCKET=/m", "GC_SESSION_NAME=s"}}, socket: "/m", home: "/h"},
		"only the name is given": {own: env{"GC_SESSION_NAME": "s"}, chain: []env{outer, session}, want: Caller{Name: "s", Environ: []string{"GC_CITY_PATH=/c", "GC_MUX_SOCKET=/m"}}, socket: "/m", home: "/h"},
		"the default place":      {chain: []env{{"GC_SESSION_NAME": "s", "HOME": "/h"}}, want: Caller{Name: "s", Environ: []string{"GC_SESSION_NAME=s"}}, home: "/h"},
		"a session of no agent":  {chain: []env{{}, {"GC_SESSION_ID": "i", "HOME": "/h"}}, want: Caller{ID: "i", Environ: []string{"GC_SESSION_ID=i"}}, home: "/h"},
		"its id is given":        {own: env{"GC_SESSION_ID": "i"}, chain: []env{outer, {"GC_SESSION_ID": "i", "HOME": "/h"}}, want: Caller{ID: "i"}, home: "/h"},
		"in no session":          {chain: []env{{}, {}}, want: Caller{}},
		"nothing can be read":    {chain: []env{nil, nil}, want: Caller{Elsewhere: true}},
		"a parent is gone":       {chain: []env{{}}, broken: true, want: Caller{Elsewhere: true}},
		"a socket is given":      {own: env{"GC_MUX_SOCKET": "/m"}, chain: []env{nil}, want: Caller{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := findCaller(c.own, 100, processes{
				environ: func(pid int) (env, error) {
					if c.chain[pid-100] == nil {
						return nil, errors.New("denied")
					}
					return c.chain[pid-100], nil
				},
				parent: func(pid int) (int, error) {
					switch {
					case pid-100 < len(c.chain)-1:
						return pid + 1, nil
					case c.broken:
						return 0, errors.New("gone")
					}
					return 1, nil
				},
			})
			if got.Name != c.want.Name || got.ID != c.want.ID || got.Elsewhere != c.want.Elsewhere || !slices.Equal(got.Environ, c.want.Environ) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			place := env{}
			if c.socket != "" || c.home != "" {
				place = env{"GC_MUX_SOCKET": c.socket, "XDG_STATE_HOME": "", "HOME": c.home}
			}
			if !maps.Equal(got.place, place) {
				t.Errorf("place %v, want %v", got.place, place)
			}
		})
	}
}
