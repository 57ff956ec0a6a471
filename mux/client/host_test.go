package client

import (
	"errors"
	"testing"

	"gascity.dev/gc/mux/api"
)

func TestParseHost(t *testing.T) {
	for in, want := range map[string]Host{
		"ssh://h":                {Name: "h"},
		"ssh://me@h.example:22/": {User: "me", Name: "h.example", Port: 22},
		"ssh://[::1]:2222":       {Name: "::1", Port: 2222},
	} {
		got, err := ParseHost(in)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
		if again, err := ParseHost(got.String()); err != nil || again != want {
			t.Errorf("%s: said %s, read again %+v, %v", in, got, again, err)
		}
	}
	for _, in := range []string{
		"", "h", "http://h", "ssh://", "ssh://h/x", "ssh://h?x", "ssh://h#x", "ssh://me:pw@h", "ssh://-oX=1", "ssh://-l@h", "ssh://h:0", "ssh://h:99999", "ssh://h:x",
	} {
		if h, err := ParseHost(in); !errors.Is(err, api.ErrRequest) {
			t.Errorf("%q: %+v, %v", in, h, err)
		}
	}
}
