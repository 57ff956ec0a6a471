package view

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDiff: the old lines are those that stay or go, the new ones those that stay or
// come, and the hunks show all changes at the right place.
func TestDiff(t *testing.T) {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", ""}), 0, 40)
	rapid.Check(t, func(t *rapid.T) {
		before, after := lines.Draw(t, "before"), lines.Draw(t, "after")
		changes := diff(strings.Join(before, "\n")+"\n", strings.Join(after, "\n")+"\n")
		var was, is []string
		for _, c := range changes {
			if c.op != '+' {
				was = append(was, c.text)
			}
			if c.op != '-' {
				is = append(is, c.text)
			}
		}
		if join(was) != join(before) || join(is) != join(after) {
			t.Fatalf("%q → %q: %v", before, after, changes)
		}
		checkHunks(t, unified(changes), was, is)
	})
}

// join joins lines; without any there is one that is empty.
func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n")
}

func checkHunks(t *rapid.T, out []line, was, is []string) {
	added, removed := 0, 0
	for len(out) > 0 {
		var o, on, n, nn int
		if _, err := fmt.Sscanf(out[0].text, "@@ -%d,%d +%d,%d @@", &o, &on, &n, &nn); err != nil {
			t.Fatalf("%q: %v", out[0].text, err)
		}
		out = out[1:]
		o, n = o-1, n-1
		endOld, endNew := o+on, n+nn
		for len(out) > 0 && !strings.HasPrefix(out[0].text, "@@") {
			op, text := out[0].text[0], out[0].text[1:]
			out = out[1:]
			if op != '+' {
				if was[o] != text {
					t.Fatalf("old line %d is %q, not %q", o+1, was[o], text)
				}
				o++
			}
			if op != '-' {
				if is[n] != text {
					t.Fatalf("new line %d is %q, not %q", n+1, is[n], text)
				}
				n++
			}
			switch op {
			case '+':
				added++
			case '-':
				removed++
			}
		}
		if o != endOld || n != endNew {
			t.Fatalf("a hunk ends at %d and %d, not %d and %d", o, n, endOld, endNew)
		}
	}
	if len(was)-removed != len(is)-added {
		t.Fatalf("%d lines go and %d come, from %d to %d", removed, added, len(was), len(is))
	}
}

// TestDiffOfLargeTexts: a change that is too large for the table is shown as one.
func TestDiffOfLargeTexts(t *testing.T) {
	before, after := strings.Repeat("a\n", 30_000), strings.Repeat("b\n", 30_000)
	if a, r := count(diff("x\n"+before+"y\n", "x\n"+after+"y\n")); a != 30_000 || r != 30_000 {
		t.Errorf("+%d −%d", a, r)
	}
}

func TestUnified(t *testing.T) {
	var before, after []string
	for i := 1; i <= 30; i++ {
		before = append(before, fmt.Sprint(i))
		switch i {
		case 5:
			after = append(after, "five")
		case 20:
		default:
			after = append(after, fmt.Sprint(i))
		}
	}
	var got []string
	for _, l := range unified(diff(strings.Join(before, "\n"), strings.Join(after, "\n"))) {
		got = append(got, l.text)
	}
	const want = "@@ -2,7 +2,7 @@, 2, 3, 4,-5,+five, 6, 7, 8,@@ -17,7 +17,6 @@, 17, 18, 19,-20, 21, 22, 23"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}
