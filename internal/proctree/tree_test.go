package proctree

import (
	"slices"
	"testing"
)

func pids(procs []Proc) (list []int) {
	for _, p := range procs {
		list = append(list, p.PID)
	}
	return list
}

// fixture: 10 is a session leader with a tree, 30 an orphan of its session, 40
// left the session but has the marker, 50 is a stranger whose parent is 40's
// old one.
var fixture = []Proc{
	{PID: 1, PPID: 0, SID: 1, Start: 1},
	{PID: 10, PPID: 1, SID: 10, Start: 100},
	{PID: 11, PPID: 10, SID: 10, Start: 101},
	{PID: 12, PPID: 11, SID: 12, Start: 102},
	{PID: 13, PPID: 10, SID: 10, Start: 103, State: 'Z'},
	{PID: 30, PPID: 1, SID: 10, Start: 104},
	{PID: 31, PPID: 30, SID: 31, Start: 105},
	{PID: 40, PPID: 1, SID: 40, Start: 106},
	{PID: 41, PPID: 40, SID: 41, Start: 107},
	{PID: 50, PPID: 1, SID: 50, Start: 108},
}

func TestTreeMembers(t *testing.T) {
	isMarked := func(p Proc, ids map[string]bool) (is, known bool) { return p.PID == 40 && ids["mark"], true }
	reused := slices.Clone(fixture)
	reused[1].Start = 500
	cases := []struct {
		name  string
		tree  Tree
		table []Proc
		want  []int
	}{
		{"root", Tree{Root: 10}, fixture, []int{10, 11, 12, 13}},
		{"session", Tree{SID: 10}, fixture, []int{10, 11, 12, 13, 30, 31}},
		{"mark", Tree{ID: "mark"}, fixture, []int{40, 41}},
		{"all", Tree{Root: 10, SID: 10, ID: "mark", RootStart: 100}, fixture, []int{10, 11, 12, 13, 30, 31, 40, 41}},
		{"another mark", Tree{ID: "other"}, fixture, nil},
		{"nothing", Tree{}, fixture, nil},
		{"root is gone, its session is not", Tree{Root: 9, SID: 10, RootStart: 99}, fixture[2:], []int{11, 12, 13, 30, 31}},
		{"root's pid was reused", Tree{Root: 10, SID: 10, ID: "mark", RootStart: 100}, reused, []int{40, 41}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := pids(c.tree.members(c.table, isMarked)); !slices.Equal(got, c.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestForestMembers: the members of all trees, also where a pid of one was reused.
func TestForestMembers(t *testing.T) {
	isMarked := func(p Proc, ids map[string]bool) (is, known bool) { return p.PID == 40 && ids["mark"], true }
	reused := slices.Clone(fixture)
	reused[1].Start = 500
	f := Forest{{Root: 10, SID: 10, RootStart: 100, ID: "other"}, {Root: 50, SID: 50, RootStart: 108, ID: "mark"}}
	for name, c := range map[string]struct {
		table []Proc
		want  []int
	}{
		"all":    {fixture, []int{10, 11, 12, 13, 30, 31, 40, 41, 50}},
		"reused": {reused, []int{40, 41, 50}},
		"ended":  {fixture[9:], []int{50}},
	} {
		if got := pids(f.members(c.table, isMarked)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := pids(Forest{}.members(fixture, isMarked)); got != nil {
		t.Errorf("no trees have %v", got)
	}
}
