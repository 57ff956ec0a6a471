package runtime_test

import (
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimetest"
)

func TestFakeConforms(t *testing.T) {
	runtimetest.Run(t, func(*testing.T) runtimetest.Harness { return fakeHarness() })
}

func fakeHarness() runtimetest.Harness {
	f := runtime.NewFake()
	queries := []string{"IsRunning", "ListRunning", "ProcessAlive", "Peek", "GetMeta", "GetLastActivity", "Stop"}
	hang := func(on bool) {
		for _, m := range queries {
			f.Hang(m, "", on)
		}
	}
	return runtimetest.Harness{
		Provider: f,
		Reopen:   func(*testing.T) runtime.Provider { return f },
		Hang:     func(*testing.T) func() { hang(true); return func() { hang(false) } },
	}
}
