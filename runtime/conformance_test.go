package runtime_test

import (
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimetest"
)

func TestFakeConforms(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		f := runtime.NewFake()
		return runtimetest.Harness{
			Provider: f,
			Reopen:   func(*testing.T) runtime.Provider { return f },
			Hang: func(*testing.T) func() {
				methods := []string{
					"IsRunning", "ListRunning", "ProcessAlive", "Peek", "GetMeta", "GetLastActivity", "Stop",
				}
				for _, m := range methods {
					f.Hang(m, "", true)
				}
				return func() {
					for _, m := range methods {
						f.Hang(m, "", false)
					}
				}
			},
		}
	})
}
