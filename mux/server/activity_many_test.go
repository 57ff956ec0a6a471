package server

import (
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
)

func TestActivitiesOfManySessions(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	began := time.Now()
	create(t, c, "asks", "printf 'Go on? [y/N] '; exec sleep 1000")
	create(t, c, "works", say("7501;state=working")+"echo done; exec sleep 1000")
	create(t, c, "silent", "echo done; exec sleep 1000")
	await(t, c, "asks", "Go on")
	await(t, c, "works", "^done")
	await(t, c, "silent", "^done")
	for _, name := range []string{"asks", "works", "silent"} {
		doingNow(t, c, name) // wait until its screen is whole
	}
	list, err := c.Activities(t.Context(), []string{"silent", "nobody", "works", "asks"})
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []struct{ name, state string }{
		{"silent", api.ActivityUnknown}, {"works", api.ActivityWorking}, {"asks", api.ActivityBlocked},
	} {
		if a := list[i]; a.Name != want.name || a.Activity.State != want.state || a.LastOutput.Before(began) {
			t.Errorf("%+v, want %v", a, want)
		}
	}
	if q := list[2].Activity.Pending; q == nil || q.ID == "" {
		t.Errorf("the question: %+v", q)
	}
}
