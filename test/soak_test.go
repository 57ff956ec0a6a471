//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
)

// soakKills is how often the server is killed: GC_SOAK_KILLS, default 20.
func soakKills() int {
	if n, err := strconv.Atoi(os.Getenv("GC_SOAK_KILLS")); err == nil && n > 0 {
		return n
	}
	return 20
}

// soak is eight programs that write at full speed.
type soak struct {
	*box
	rounds int
}

const (
	soakWriters = 8
	soakLines   = 8000
)

// newSoak starts the writers, with enough output for every kill.
func newSoak(t *testing.T, kills int) *soak {
	s := &soak{newBox(t), max(3, kills/8)}
	for i := range soakWriters {
		var text strings.Builder
		for k := range soakLines {
			fmt.Fprintf(&text, "%d:%d:%s\n", i, k, strings.Repeat("x", k%90))
		}
		file := s.file(fmt.Sprintf("text%d", i), text.String())
		s.gc("session", "new", fmt.Sprintf("w%d", i), "--", fmt.Sprintf(
			"until [ -e %s ]; do sleep 0.01; done; n=0; while [ $n -lt %d ]; do cat %s; n=$((n+1)); done; exit %d",
			filepath.Join(s.dir, "gate"), s.rounds, file, i+1))
	}
	s.file("gate", "")
	return s
}

// check waits for the writers to end and compares every line of screen and
// history, and every exit status, with what they wrote.
func (s *soak) check(right func(exit *exitInfo, code int) bool) {
	for i := range soakWriters {
		name := fmt.Sprintf("w%d", i)
		s.gc("session", "wait", name, "--until", "exit", "--timeout", "2m")
		if e := s.session(name).Exit; e == nil || !right(e, i+1) {
			s.t.Errorf("%s: exit %+v", name, e)
		}
		want := strings.Repeat(s.read(filepath.Join(s.dir, fmt.Sprintf("text%d", i))), s.rounds)
		got := strings.TrimRight(s.gc("session", "peek", name, "--all"), "\n") + "\n"
		if len(got) < len(want)/s.rounds/2 || !strings.HasSuffix(want, got) {
			s.t.Errorf("%s: %d bytes of screen and history are not the end of the %d that were written", name, len(got), len(want))
		}
	}
}

// pause is random on purpose.
func (s *soak) pause() { time.Sleep(time.Duration(5+rand.IntN(120)) * time.Millisecond) }

// TestSoak kills the server at random moments.
func TestSoak(t *testing.T) {
	kills, killed := soakKills(), 0
	s := newSoak(t, kills)
	for range kills {
		s.pause()
		if syscall.Kill(s.status().Server.PID, syscall.SIGKILL) == nil {
			killed++
		}
	}
	s.check(func(e *exitInfo, code int) bool { return e.Code == code })
	t.Logf("%d kills, %d writers", killed, soakWriters)
}

// TestSoakKeeper kills the keeper at random moments, and half the time the
// server as soon as another keeper holds everything.
func TestSoakKeeper(t *testing.T) {
	kills := soakKills()
	s := newSoak(t, kills)
	servers := 0
	for range kills {
		s.pause()
		before := s.status()
		kill9(t, before.Keeper.PID)
		var now muxStatus
		eventually(t, func() string { return fmt.Sprintf("another keeper: %+v", now) }, func() bool {
			now = s.status()
			return now.Keeper.PID != 0 && now.Keeper.PID != before.Keeper.PID
		})
		if now.Server.PID != before.Server.PID {
			t.Fatalf("the keeper's death made %+v of %+v", now, before)
		}
		if rand.IntN(2) == 0 {
			kill9(t, now.Server.PID)
			servers++
		}
	}
	// If its parent was killed, an exit status exists only where the kernel
	// keeps it.
	s.check(func(e *exitInfo, code int) bool { return e.Code == code || e.Reason == "unknown" })
	t.Logf("%d kills of the keeper, %d of the server, %d writers", kills, servers, soakWriters)
}

// TestKeepersKilledAsTheyCome kills every keeper as soon as it appears, even
// during a handover: the server continues, and has one keeper in the end.
func TestKeepersKilledAsTheyCome(t *testing.T) {
	s := newSoak(t, 0)
	before := s.status()
	killed := 0
	for last := time.Now().Add(time.Second); time.Now().Before(last); {
		for _, p := range s.keepers() {
			if syscall.Kill(p.PID, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	var now muxStatus
	eventually(t, func() string { return fmt.Sprintf("one keeper: %+v, %v", now, s.keepers()) }, func() bool {
		now = s.status()
		all := s.keepers()
		return len(all) == 1 && all[0].PID == now.Keeper.PID
	})
	if killed < 3 || now.Server.PID != before.Server.PID {
		t.Errorf("%d kills, and the server is %d after %d", killed, now.Server.PID, before.Server.PID)
	}
	kill9(t, now.Server.PID)
	s.check(func(e *exitInfo, code int) bool { return e.Code == code || e.Reason == "unknown" })
	t.Logf("%d kills", killed)
}

// keepers returns the live keepers of the box.
func (b *box) keepers() (found []proctree.Proc) {
	for _, p := range runningFrom(gcBin) {
		argv, err := proctree.Cmdline(p.PID)
		if err == nil && len(argv) > 0 && argv[0] == "gc-keeper" && slices.Contains(argv, b.socket) {
			found = append(found, p)
		}
	}
	return found
}
