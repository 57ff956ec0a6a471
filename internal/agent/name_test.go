package agent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity.dev/gc/runtime"
)

func TestSessionNames(t *testing.T) {
	tests := []struct{ city, tmpl, agent, want string }{
		{"city", "", "worker", "gc-city-worker"},
		{"city", "", "hello-world/worker", "gc-city-hello-world--worker"},
		{"city", "", "a/b/c", "gc-city-a--b--c"},
		{"city", "", "my-worker", "gc-city-my-worker"},
		{"city", "", "w_1.x", "gc-city-w_1.x"},
		{"my-city", "", "worker", "gc-my-city-worker-*"},
		{"city", "", "a--b", "gc-city-a--b-*"},
		{"city", "", "a b", "gc-city-a_b-*"},
		{"city", "", "ü", "gc-city-__-*"},
		{"city", "", "a-/b", "gc-city-a---b-*"},
		{"city", "", "a/-b", "gc-city-a---b-*"},
		{"city", "", "x-deadbeef", "gc-city-x-deadbeef-*"},
		{"city", "{{.Agent}}", "r/w", "r--w"},
		{"city", "{{.City}}_{{.Dir}}_{{.Name}}", "r/w", "city_r_w"},
		{"city", "{{.Dir}}x{{.Name}}", "w", "xw"},
		{"city", "{{.Nope}}", "w", "gc-city-w"},
		{"city", "{{", "w", "gc-city-w"},
		{"city", "{{.Agent}} {{.City}}", "w", "gc-city-w"},
		{"city", "-{{.Agent}}", "w", "gc-city-w"},
		{"city", "   ", "w", "gc-city-w"},
	}
	for _, tt := range tests {
		got := SessionNameFor(tt.city, "", tt.tmpl, tt.agent)
		want, hashed := strings.CutSuffix(tt.want, "*")
		if hashed && (!strings.HasPrefix(got, want) || len(got) != len(want)+hashDigits) || !hashed && got != want {
			t.Errorf("%q %q %q: %s, want %s", tt.city, tt.tmpl, tt.agent, got, tt.want)
		}
		fallsBack := tt.tmpl != "" && got == SessionNameFor(tt.city, "", "", tt.agent)
		if (CheckTemplate(tt.city, "", tt.tmpl, tt.agent) != nil) != fallsBack {
			t.Errorf("%q: CheckTemplate %v", tt.tmpl, CheckTemplate(tt.city, "", tt.tmpl, tt.agent))
		}
	}
	long := SessionNameFor("city", "", "", strings.Repeat("x", 300))
	if len(long) != maxName || long == SessionNameFor("city", "", "", strings.Repeat("x", 301)) {
		t.Errorf("long name %s (%d)", long, len(long))
	}
}

// Distinct pairs give distinct names that every provider accepts; the same pair
// always gives the same name.
func TestSessionNamesAreDistinct(t *testing.T) {
	part := rapid.StringMatching(`[ab/._ü-]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		type pair struct{ city, agent string }
		tmpl := rapid.SampledFrom([]string{"", "{{.City}}-{{.Agent}}"}).Draw(t, "template")
		owner := map[string]pair{}
		for range 40 {
			p := pair{part.Draw(t, "city"), part.Draw(t, "agent")}
			name := SessionNameFor(p.city, "", tmpl, p.agent)
			if err := runtime.CheckName(name); err != nil {
				t.Fatalf("%q: %v", p, err)
			}
			if name != SessionNameFor(p.city, "", tmpl, p.agent) {
				t.Fatalf("%q: two answers", p)
			}
			if old, taken := owner[name]; taken && old != p {
				t.Fatalf("%q and %q are both %s", old, p, name)
			}
			owner[name] = p
			// The hard case: an agent named like another's hashed name.
			if rest, ok := strings.CutPrefix(name, "gc-a-"); ok && tmpl == "" {
				evil := pair{"a", rest}
				n := SessionNameFor(evil.city, "", "", evil.agent)
				if old, taken := owner[n]; taken && old != evil {
					t.Fatalf("%q and %q are both %s", old, evil, n)
				}
			}
		}
	})
}
