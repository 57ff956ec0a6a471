package runtimefake_test

import (
	"testing"

	"gascity.dev/gc/runtime/runtimetest"
)

func TestFakeConforms(t *testing.T) {
	runtimetest.Run(t, func(*testing.T) runtimetest.Harness { return runtimetest.Fake() })
}

func TestFakePromptsConforms(t *testing.T) {
	runtimetest.Run(t, func(*testing.T) runtimetest.Harness { return runtimetest.FakePrompts() })
}
