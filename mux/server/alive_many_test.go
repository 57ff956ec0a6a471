package server

import (
	"slices"
	"testing"

	"gascity.dev/gc/mux/api"
	"github.com/google/go-cmp/cmp"
)

func TestAliveOfManySessions(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "leader", "exec sleep 1000")
	create(t, c, "child", "sleep 1000 & echo done; wait")
	create(t, c, "other", "echo done; read x")
	await(t, c, "child", "^done")
	await(t, c, "other", "^done")
	ask := []api.AliveRequest{
		{Name: "leader", Names: []string{"sleep"}}, {Name: "child", Names: []string{"vim", "sleep"}}, {Name: "other", Names: []string{"sleep"}}, {Name: "nobody", Names: []string{"sleep"}},
	}
	var seen []string
	for len(seen) < 2 { // a fork becomes a sleep a moment later
		var err error
		if seen, err = c.AliveMany(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(seen)
	if diff := cmp.Diff([]string{"child", "leader"}, seen); diff != "" {
		t.Error(diff)
	}
}
