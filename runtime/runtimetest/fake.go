package runtimetest

import (
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// Fake returns the harness of a new in-memory fake, for tests of wrappers.
func Fake() Harness { return fakeHarness(runtimefake.New()) }

func fakeHarness(f *runtimefake.Fake) Harness {
	hang := func(on bool) {
		for _, method := range []string{"IsRunning", "ListRunning", "ProcessAlive", "Peek", "GetMeta", "GetLastActivity", "Stop"} {
			f.Hang(method, "", on)
		}
	}
	return Harness{
		Provider: f,
		Reopen:   func(*testing.T) runtime.Provider { return f },
		Hang:     func(*testing.T) func() { hang(true); return func() { hang(false) } },
	}
}
