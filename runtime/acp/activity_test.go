package acp_test

import (
	"testing"

	"gascity.dev/gc/runtime"
)

// The status of a city has what each agent says of itself.
func TestActivitiesOfMany(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	for _, name := range []string{"a", "b"} {
		if err := p.Start(t.Context(), name, runtime.Config{Command: "cat", WorkDir: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Nudge(t.Context(), "a", runtime.TextContent("hello")); err != nil {
		t.Fatal(err)
	}
	many, ok := runtime.As[runtime.ManyActivities](p)
	if !ok {
		t.Fatal("no ManyActivities")
	}
	got, err := many.Activities(t.Context(), []string{"a", "b", "none"})
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, a := range got {
		one, _ := runtime.As[runtime.ActivityProvider](p)
		want, err := one.Activity(t.Context(), name)
		if err != nil || a.Source != "acp" || a.Mode != want.Mode || a.Sources != nil || a.Last.IsZero() {
			t.Errorf("%s: %+v, alone %+v, %v", name, a, want, err)
		}
	}
}
