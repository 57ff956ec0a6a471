//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
)

// killCity is a city whose controller is killed repeatedly.
type killCity struct {
	*box
	path string
	rnd  *rand.Rand
	turn int
}

// sleepers are the agents that must always run.
var sleepers = []string{"a", "b", "c", "d"}

func newKillCity(t *testing.T) *killCity {
	b := newBox(t)
	dir, err := filepath.EvalSymlinks(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	k := &killCity{box: b, path: filepath.Join(dir, "city"), rnd: rand.New(rand.NewPCG(seed, 1))}
	if err := os.Mkdir(k.path, 0o700); err != nil {
		t.Fatal(err)
	}
	k.write(0)
	return k
}

// write writes city.toml; another version is drift for every sleeper.
func (k *killCity) write(version int) {
	k.t.Helper()
	var b strings.Builder
	b.WriteString("[workspace]\nname = \"kill\"\n[daemon]\nmax_restarts = 3\nshutdown_timeout = \"100ms\"\ndrift_drain_timeout = \"100ms\"\npatrol_interval = \"1s\"\n")
	for i, name := range sleepers {
		fmt.Fprintf(&b, "[[agents]]\nname = %q\nstart_command = \"exec sleep 10000%d\"\nenv = {V = \"%d\"}\n", name, i, version)
		if i > 0 {
			fmt.Fprintf(&b, "depends_on = [%q]\n", sleepers[i-1])
		}
	}
	b.WriteString("[[agents]]\nname = \"loop\"\nstart_command = \"echo x >> loop.count; exit 1\"\n")
	b.WriteString("[[agents]]\nname = \"job\"\nstart_command = \"echo x >> job.count\"\nlifecycle = \"one_shot\"\n")
	tmp := filepath.Join(k.path, "city.new")
	if err := os.WriteFile(tmp, []byte(b.String()), 0o600); err != nil {
		k.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(k.path, "city.toml")); err != nil {
		k.t.Fatal(err)
	}
}

// count returns how often an agent wrote its line.
func (k *killCity) count(agent string) int {
	b, err := os.ReadFile(filepath.Join(k.path, agent+".count"))
	if err != nil {
		return 0
	}
	return strings.Count(string(b), "x")
}

// processes counts the sleeping processes of each agent.
func (k *killCity) processes() map[string][]int { return sleeping(k.t, k.path) }

// sleeping returns the city's sleep processes by agent.
func sleeping(t *testing.T, city string) map[string][]int {
	t.Helper()
	table, err := proctree.Table()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]int{}
	for _, p := range table {
		if p.Zombie() || p.Comm != "sleep" {
			continue
		}
		env, err := proctree.Environ(p.PID)
		if err == nil && env["GC_CITY_PATH"] == city {
			found[env["GC_AGENT"]] = append(found[env["GC_AGENT"]], p.PID)
		}
	}
	return found
}

// noDuplicates fails if an agent runs twice.
func (k *killCity) noDuplicates(what string) {
	k.t.Helper()
	for agent, pids := range k.processes() {
		if len(pids) > 1 {
			k.t.Fatalf("turn %d, %s: agent %s runs %d times: %v", k.turn, what, agent, len(pids), pids)
		}
	}
}

// disturb does something that makes a controller act; commands may fail,
// because their controller is about to die.
func (k *killCity) disturb(actions int) (what string, wait func()) {
	done := make(chan struct{})
	background := func(args ...string) (string, func()) {
		go func() {
			defer close(done)
			k.run(args...)
		}()
		return strings.Join(args, " "), func() { <-done }
	}
	switch k.rnd.IntN(actions) {
	case 0:
		k.write(k.rnd.IntN(1000))
		return "drift", func() {}
	case 1:
		if pids := k.processes()[sleepers[k.rnd.IntN(len(sleepers))]]; len(pids) > 0 {
			_ = syscall.Kill(pids[0], syscall.SIGKILL)
		}
		return "an agent killed", func() {}
	case 2:
		return background("--city", k.path, "restart", sleepers[k.rnd.IntN(len(sleepers))])
	case 3:
		return background("--city", k.path, "stop")
	}
	return "nothing", func() {}
}

// life starts a controller and kills it at some moment.
func (k *killCity) life(actions int) {
	k.t.Helper()
	k.turn++
	cmd := exec.Command(gcBin, "controller", "run", "--city", k.path)
	cmd.Env, cmd.Dir = k.env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	after := func(most time.Duration) { <-time.After(time.Duration(k.rnd.Int64N(int64(most)))) }
	after(60 * time.Millisecond)
	what, wait := k.disturb(actions)
	after(60 * time.Millisecond)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wait()
	k.noDuplicates(what)
}

// settled waits until a last controller has reconciled the city.
func (k *killCity) settled() {
	k.t.Helper()
	if r := k.run("--city", k.path, "start"); r.code != 0 && r.code != 1 { // 1: the loop has crashed
		k.t.Fatalf("start after the kills: %s", r)
	}
	show := func() string { return k.run("--city", k.path, "status").out }
	eventually(k.t, show, func() bool {
		have := k.processes()
		for _, name := range sleepers {
			if len(have[name]) != 1 {
				return false
			}
		}
		return len(have) == len(sleepers) && k.count("job") > 0
	})
	k.noDuplicates("the end")
}

func (k *killCity) stopped() {
	k.t.Helper()
	k.gc("--city", k.path, "stop")
	if left := k.processes(); len(left) > 0 {
		log, _ := os.ReadFile(filepath.Join(k.path, ".gc", "controller.log"))
		k.t.Errorf("gc stop left %v; the end of the log:\n%s", left, log[max(0, len(log)-3000):])
	}
}

// The controller is killed at any point during starts and drains: no agent runs
// twice, none is lost, the one_shot runs once, the restart budget is respected.
func TestControllerKilledDuringStartsAndDrains(t *testing.T) {
	k := newKillCity(t)
	for range max(120, soakKills()) {
		k.life(3)
	}
	k.settled()
	if n := k.count("job"); n != 1 {
		t.Errorf("the one_shot ran %d times for one gc start", n)
	}
	// Three restarts, then back-off: 1, 2, 4, 8 … seconds. A config change of
	// its own would reset it; there is none.
	if n := k.count("loop"); n < 1 || n > 12 {
		t.Errorf("the crash loop ran %d times: the budget was not kept", n)
	}
	k.stopped()
}

// The same with gc stop in between.
func TestControllerKilledDuringStops(t *testing.T) {
	k := newKillCity(t)
	for range max(80, soakKills()) {
		k.life(4)
	}
	k.settled()
	k.stopped()
}
