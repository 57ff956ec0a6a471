//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soakKills is how often the server is killed: GC_SOAK_KILLS, else 20.
func soakKills() int {
	if n, err := strconv.Atoi(os.Getenv("GC_SOAK_KILLS")); err == nil && n > 0 {
		return n
	}
	return 20
}

// TestSoak kills the server at random moments while eight programs write at
// full speed, and compares every line of screen and history, and every exit
// status, with what they wrote.
func TestSoak(t *testing.T) {
	const writers, lines = 8, 8000
	b := newBox(t)
	kills := soakKills()
	gate := filepath.Join(b.dir, "gate")
	rounds := max(3, kills/8) // enough output for every kill to meet some
	for i := range writers {
		var text strings.Builder
		for k := range lines {
			fmt.Fprintf(&text, "%d:%d:%s\n", i, k, strings.Repeat("x", k%90))
		}
		file := b.file(fmt.Sprintf("text%d", i), text.String())
		b.gc("session", "new", fmt.Sprintf("w%d", i), "--", fmt.Sprintf(
			"until [ -e %s ]; do sleep 0.01; done; n=0; while [ $n -lt %d ]; do cat %s; n=$((n+1)); done; exit %d", gate, rounds, file, i+1))
	}
	b.file("gate", "")
	killed := 0
	for range kills {
		time.Sleep(time.Duration(5+rand.IntN(120)) * time.Millisecond) // random is the point
		if syscall.Kill(b.status().Server.PID, syscall.SIGKILL) == nil {
			killed++
		}
	}
	for i := range writers {
		name := fmt.Sprintf("w%d", i)
		b.gc("session", "wait", name, "--until", "exit", "--timeout", "2m")
		if e := b.session(name).Exit; e == nil || e.Code != i+1 {
			t.Errorf("%s: exit %+v", name, e)
		}
		want := strings.Repeat(b.read(filepath.Join(b.dir, fmt.Sprintf("text%d", i))), rounds)
		got := strings.TrimRight(b.gc("session", "peek", name, "--all"), "\n") + "\n"
		if len(got) < len(want)/rounds/2 || !strings.HasSuffix(want, got) {
			t.Errorf("%s: %d bytes of screen and history are not the end of the %d that were written", name, len(got), len(want))
		}
	}
	t.Logf("%d kills, %d writers", killed, writers)
}
