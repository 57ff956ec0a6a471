package runtime_test

import (
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

func TestObserveLiveness(t *testing.T) {
	ctx, f := t.Context(), runtimefake.New()
	names := []string{"agent"}
	want := func(w runtime.Liveness) {
		t.Helper()
		if l, err := runtime.ObserveLiveness(ctx, f, "a", names); err != nil || l != w {
			t.Fatalf("liveness %q, %v; want %q", l, err, w)
		}
	}
	want(runtime.Gone)
	if err := f.Start(ctx, "a", runtime.Config{}); err != nil {
		t.Fatal(err)
	}
	want(runtime.Alive)
	f.SetZombie("a", true)
	want(runtime.Zombie)
	names = nil
	want(runtime.Alive)
}
