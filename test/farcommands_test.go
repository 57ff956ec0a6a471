//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// TestFarCommandsWakeOnce: agents on another machine start background commands, and while
// these end, the way there is cut and lost, the multiplexer there is killed and so is the
// controller: each end is submitted to its owner once. A quarter of them end after their
// owner was stopped for idleness, and start it again. With GC_SOAK there are 500 commands,
// 50 for each of ten agents.
func TestFarCommandsWakeOnce(t *testing.T) {
	// Ends come within spread seconds. The soak stops idle owners between them, too: an end
	// that is submitted just before its owner gets SIGTERM may not be read.
	owners, each, spread, idle := 1, 20, 4, "5s"
	if os.Getenv("GC_SOAK") != "" {
		owners, each, spread, idle = 10, 50, 90, "2s"
	}
	far := sshd.Start(t, sshd.Options{GC: gcBin, Faults: true})
	far.Write(".local/bin/owner", fmt.Sprintf(`#!/bin/bash
echo start >> starts
if [ ! -e ids ]; then
	for ((i = 0; i < %d; i++)); do
		file=ids; late=
		if ((i %% 4 == 0)); then file=late.ids; late='until [ -e go ]; do sleep 0.2; done'; fi
		gc exec --bg --notify always -- "$late
			sleep $((RANDOM %% %d)).$((RANDOM %% 10))" >> $file
		printf .
	done
	echo
	touch begun
fi
printf '> '
while read -r line; do echo "$line" >> said; printf '> '; done
`, each, spread), 0o755)
	toml, names := hostDaemon, []string{}
	for i := range owners {
		name := fmt.Sprintf("owner%d", i)
		names = append(names, name)
		toml += "[[agents]]\nname = \"" + name + "\"\nsession = \"" + far.URL() + "\"\nidle_timeout = \"" + idle + "\"\n" +
			"work_dir = \"" + far.Home + "/" + name + "\"\nready_prompt_prefix = \"> \"\nstart_command = \"exec owner\"\n"
	}
	c := newCity(t, toml)
	c.env = append(c.env, "GC_SSH="+far.SSH())
	c.gc("start", c.path)

	read := func(name, file string) string {
		b, _ := os.ReadFile(filepath.Join(far.Home, name, file)) // nothing yet
		return string(b)
	}
	within := func(limit time.Duration, what func() string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(limit); !ok(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not within %v: %s", limit, what())
			}
		}
	}
	early, late := map[string][]string{}, map[string][]string{} // by owner
	for _, name := range names {
		within(time.Minute, func() string { return name + " has started: " + read(name, "ids") }, func() bool {
			_, err := os.Stat(filepath.Join(far.Home, name, "begun"))
			return err == nil
		})
		early[name], late[name] = strings.Fields(read(name, "ids")), strings.Fields(read(name, "late.ids"))
		if len(early[name])+len(late[name]) != each {
			t.Fatalf("%s: %d and %d commands, want %d", name, len(early[name]), len(late[name]), each)
		}
	}
	told := func(name, id string) int { return strings.Count(read(name, "said"), "[gc:evt "+id+"/exit]") }
	suffered := faults{}
	disturb := func(ids map[string][]string) {
		t.Helper()
		missing := func() (list []string) {
			for name, of := range ids {
				for _, id := range of {
					if told(name, id) == 0 {
						list = append(list, name+" "+id)
					}
				}
			}
			return list
		}
		for end := time.Now().Add(time.Duration(2*spread)*time.Second + time.Minute); len(missing()) > 0; {
			if time.Now().After(end) {
				name, id, _ := strings.Cut(missing()[0], " ")
				var of []string // its events
				for line := range strings.Lines(c.run("--city", c.path, "events").out) {
					if strings.Contains(line, " "+name+" ") {
						of = append(of, line)
					}
				}
				t.Fatalf("not told of %v; faults %v; events of the first:\n%sthere:\n%s", missing(), suffered,
					strings.Join(of, ""), far.Run("gc process list | grep "+id+"; tail -n 5 "+name+"/said"))
			}
			time.Sleep(rand.N(1500 * time.Millisecond)) // random on purpose
			suffered.strike(c, far)
		}
	}
	disturb(early)
	within(time.Minute, func() string { return fmt.Sprintf("stopped for idleness: %+v", c.agents()) }, func() bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(c.agents())), func(a cityapi.AgentStatus) bool { return a.State != cityapi.StateStopped })
	})
	starts := map[string]int{}
	for _, name := range names {
		starts[name] = strings.Count(read(name, "starts"), "start")
		far.Write(name+"/go", "", 0o600)
	}
	disturb(late)
	within(time.Minute, func() string { return "gc stop" }, func() bool { return c.run("--city", c.path, "stop").code == 0 })
	for _, name := range names {
		for _, id := range slices.Concat(early[name], late[name]) {
			if n := told(name, id); n != 1 {
				t.Errorf("%s was told %d times of the end of %s", name, n, id)
			}
		}
		if n := strings.Count(read(name, "starts"), "start"); n == starts[name] {
			t.Errorf("%s was told while it was stopped: %d starts", name, n)
		}
	}
	t.Logf("%d commands, faults %v", owners*each, suffered)
}
