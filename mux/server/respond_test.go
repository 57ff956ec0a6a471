package server

import (
	"testing"

	"gascity.dev/gc/mux/api"
)

func TestPickWantsOneOption(t *testing.T) {
	for _, c := range []struct {
		options []string
		action  string
		want    int
	}{
		{[]string{"No", "Yes"}, "Yes", 1},
		{[]string{"Yes (y)", "Yes"}, "Yes", 1},
		{[]string{"No", "Yes (y)"}, "Yes", 1},
		{[]string{"Yes (y)", "Yes (a)"}, "Yes", -1},
		{[]string{"Yes", "No", "Yes"}, "Yes", -1},
		{[]string{"Yes"}, "Y", -1},
		{nil, "Yes", -1},
	} {
		got, err := pick(&api.Pending{Options: c.options}, c.action)
		if got != c.want || (err == nil) != (c.want >= 0) {
			t.Errorf("%q of %q: %d, %v", c.action, c.options, got, err)
		}
	}
}
