package bench

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
)

// target is one line in the tables of targets, with its measured value. The
// value is compared with must and goal: it must be at least that if atLeast is
// set, otherwise at most that.
type target struct {
	name     string
	gc, tmux string // as displayed; tmux is "" if there is no comparison
	value    float64
	unit     string // of value, must and goal: "×" for a ratio to tmux
	must     float64
	goal     float64 // 0: none
	atLeast  bool
}

// verdict is "met", "met, goal too" or "NOT MET".
func (t target) verdict() string {
	reaches := func(limit float64) bool {
		if t.atLeast {
			return t.value >= limit
		}
		return t.value <= limit
	}
	switch {
	case !reaches(t.must):
		return "NOT MET"
	case t.goal != 0 && reaches(t.goal):
		return "met, goal too"
	default:
		return "met"
	}
}

// judged are the targets measured in this run; the last figure of a name
// counts.
var judged struct {
	sync.Mutex
	list []target
}

// judge records a target for the table at the end of the run. A missed target
// is shown as such but does not fail the run, because figures depend on the
// machine.
func judge(b *testing.B, t target) {
	b.Helper()
	judged.Lock()
	defer judged.Unlock()
	same := func(o target) bool { return o.name == t.name }
	if i := slices.IndexFunc(judged.list, same); i >= 0 {
		judged.list[i] = t
	} else {
		judged.list = append(judged.list, t)
	}
	b.Logf("%s: gc %s, tmux %s: %s", t.name, t.gc, orDash(t.tmux), t.verdict())
}

// verdicts formats the table of all judged targets.
func verdicts() string {
	judged.Lock()
	defer judged.Unlock()
	if len(judged.list) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\ntargets; %s\n", machine())
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tgc\ttmux\tmeasured\tmust\tgoal\t")
	for _, t := range judged.list {
		sign, goal := "≤", "–"
		if t.atLeast {
			sign = "≥"
		}
		if t.goal != 0 {
			goal = fmt.Sprintf("%s %g %s", sign, t.goal, t.unit)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f %s\t%s %g %s\t%s\t%s\n",
			t.name, t.gc, orDash(t.tmux), t.value, t.unit, sign, t.must, t.unit, goal, t.verdict())
	}
	_ = w.Flush()
	return out.String()
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		value   float64
		atLeast bool
		want    string
	}{
		{value: 1, atLeast: true, want: "NOT MET"},
		{value: 1.5, atLeast: true, want: "met"},
		{value: 2, atLeast: true, want: "met, goal too"},
		{value: 2, want: "NOT MET"},
		{value: 1.2, want: "met, goal too"},
	} {
		if got := (target{value: c.value, must: 1.5, goal: 2, atLeast: c.atLeast}).verdict(); got != c.want {
			t.Errorf("%g, at least: %v: %q, want %q", c.value, c.atLeast, got, c.want)
		}
	}
}
