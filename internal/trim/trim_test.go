package trim

import (
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"
)

// TestTrimWhenIdle: memory is released once, after the work and not during it,
// and not after little work.
func TestTrimWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr Trimmer
		for range 5 {
			tr.Note()
			time.Sleep(after * 3 / 4)
			if tr.done.Load() != 0 {
				t.Fatal("memory went back while there was work")
			}
		}
		touchMemory(64 << 20)
		before := returned()
		tr.Note()
		time.Sleep(3 * after)
		synctest.Wait()
		if tr.done.Load() == 0 || tr.state.Load() != idle {
			t.Fatalf("after the work: state %d, nothing went back", tr.state.Load())
		}
		if n := returned() - before; n < 32<<20 {
			t.Errorf("%d of 64 MiB of unused memory were released", n)
		}

		tr.Worth = 1 << 40
		last := tr.done.Load()
		tr.Note()
		time.Sleep(3 * after)
		synctest.Wait()
		if tr.done.Load() != last || tr.state.Load() != idle {
			t.Error("memory went back after little work")
		}
	})
}

// touchMemory uses n bytes and drops them.
func touchMemory(n int) {
	p := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		p[i] = 1
	}
}

// returned is how much memory this process has released to the system.
func returned() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
