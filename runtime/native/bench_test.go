package native_test

import (
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimetest"
)

func BenchmarkProvider(b *testing.B) {
	runtimetest.Benchmark(b, func(b *testing.B) runtime.Provider { return newBackend(b).provider(b) })
}
