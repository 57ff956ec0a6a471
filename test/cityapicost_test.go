//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/fleet"
)

// fleetSize is how many agents TestCityAPICosts starts; GC_E2E_FLEET=500 is the size that
// is promised.
func fleetSize(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("GC_E2E_FLEET"))
	if os.Getenv("GC_E2E_FLEET") == "" {
		return 40
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCityAPICosts: while nothing changes, a viewer of a city and of all its screens costs
// the controller and the multiplexer nothing.
func TestCityAPICosts(t *testing.T) {
	n := fleetSize(t)
	c := newCity(t, fmt.Sprintf("[[agents]]\nname = \"w\"\nstart_command = \"echo ready; read x; i=0; while :; do i=$((i+1)); echo line $i; sleep 0.05; done\"\n[agents.pool]\nmin = %[1]d\nmax = %[1]d\n", n))
	c.run("start", c.path)
	f := c.follows()
	began := time.Now()
	up := 0
	for up < n && time.Since(began) < 5*time.Minute {
		time.Sleep(100 * time.Millisecond)
		f.mu.Lock()
		up = 0
		for _, a := range f.now.Agents {
			if a.State == string(cityapi.StateRunning) {
				up++
			}
		}
		f.mu.Unlock()
	}
	if up < n {
		t.Fatalf("%d of %d run", up, n)
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("w-%d", i+1)
	}
	leave := f.looks(names...)
	for _, name := range names {
		f.shows(name, "ready")
	}
	f.sees("last lines", func(s fleet.Snapshot) bool {
		for _, a := range s.Agents {
			if a.LastLine != "ready" {
				return false
			}
		}
		return true
	})
	var st cityapi.Status
	c.decode(c.gc("--city", c.path, "status", "--json"), &st)
	pids := map[string]int{"controller": st.Controller.PID, "multiplexer": c.status().Server.PID, "viewer": os.Getpid()}
	const span = 5 * time.Second
	used := map[string]time.Duration{}
	// What a start leaves to do, such as compacting memory, ends at some time.
	eventually(t, func() string { return fmt.Sprintf("%d agents cost in %v: %v", n, span, used) }, func() bool {
		before := map[string]time.Duration{}
		for what, pid := range pids {
			before[what] = cpuTime(t, pid)
		}
		time.Sleep(span)
		quiet := true
		for what, pid := range pids {
			used[what] = cpuTime(t, pid) - before[what]
			quiet = quiet && (used[what] <= 20*time.Millisecond || what == "viewer") // other tests run in this process
		}
		return quiet
	})
	t.Logf("%d agents, nothing changing, for %v: %v", n, span, used)
	if os.Getenv("GC_E2E_FLEET") == "" {
		return
	}
	measure := func(what string, do func()) {
		before := map[string]time.Duration{}
		for process, pid := range pids {
			before[process] = cpuTime(t, pid)
		}
		do()
		for process, pid := range pids {
			used[process] = cpuTime(t, pid) - before[process]
		}
		t.Logf("%d agents, %s: %v", n, what, used)
	}
	measure("gc status five times, as watch does in 5s", func() {
		for range 5 {
			c.gc("--city", c.path, "status")
		}
	})
	for _, name := range names[:10] {
		c.gc("--city", c.path, "keys", name, "Enter")
	}
	measure("ten of which print, all screens looked at, for 5s", func() { time.Sleep(span) })
	leave()
	measure("ten of which print, no screen looked at, for 5s", func() { time.Sleep(span) })
}
