package driver

import (
	"errors"
	"testing"

	"gascity.dev/gc/runtime"
)

func TestStarts(t *testing.T) {
	there, hangs := error(nil), errors.New("it hangs")
	for name, c := range map[string]struct {
		session string
		look    []error // one answer after the other
		made    bool
		begin   error
		want    error
		begun   bool
	}{
		"nothing in the way":          {session: "a", look: []error{runtime.ErrSessionNotFound}, made: true, begun: true},
		"a bad name":                  {session: "../a", want: runtime.ErrBadName},
		"it runs":                     {session: "a", look: []error{there}, want: runtime.ErrSessionExists},
		"cannot tell":                 {session: "a", look: []error{hangs}, want: hangs},
		"it fails":                    {session: "a", look: []error{runtime.ErrSessionNotFound, runtime.ErrSessionNotFound}, begin: hangs, want: hangs, begun: true},
		"it fails, another has won":   {session: "a", look: []error{runtime.ErrSessionNotFound, there}, begin: hangs, want: runtime.ErrSessionExists, begun: true},
		"it fails with what it made":  {session: "a", look: []error{runtime.ErrSessionNotFound}, made: true, begin: hangs, want: hangs, begun: true},
		"the backend knows of it now": {session: "a", look: []error{runtime.ErrSessionNotFound}, begin: runtime.ErrSessionExists, want: runtime.ErrSessionExists, begun: true},
	} {
		t.Run(name, func(t *testing.T) {
			var s Starts
			looks, begun := 0, false
			err := s.Start(c.session, func() error { looks++; return c.look[looks-1] }, func() (bool, error) {
				begun = true
				if release, ok := s.Hold(c.session); ok {
					release()
					t.Error("the name is free while its session starts")
				}
				return c.made, c.begin
			})
			if !errors.Is(err, c.want) || begun != c.begun || looks != len(c.look) {
				t.Errorf("%v, begun %v, %d looks; want %v, %v, %d", err, begun, looks, c.want, c.begun, len(c.look))
			}
			if c.want == hangs && c.made && errors.Is(err, runtime.ErrSessionExists) {
				t.Errorf("what was made is taken for another's: %v", err)
			}
			if release, ok := s.Hold(c.session); !ok {
				t.Error("the name is not free afterwards")
			} else {
				release()
			}
		})
	}
}
