//go:build e2e

package e2e

import (
	"fmt"
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

// TestFarCommandsWakeOnce: an agent on another machine starts background commands, and
// the way to it is cut and lost while they end: each end is submitted to it once. A
// quarter of them end after the agent was stopped for idleness, and start it again. With
// GC_SOAK there are 500 commands.
func TestFarCommandsWakeOnce(t *testing.T) {
	commands, spread := 20, 4 // seconds over which they end
	if os.Getenv("GC_SOAK") != "" {
		commands, spread = 500, 240
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
`, commands, spread), 0o755)
	c := newCity(t, hostDaemon+"[[agents]]\nname = \"owner\"\nsession = \""+far.URL()+"\"\nidle_timeout = \"2s\"\n"+
		"work_dir = \""+far.Home+"/work\"\nready_prompt_prefix = \"> \"\nstart_command = \"exec owner\"\n")
	c.env = append(c.env, "GC_SSH="+far.SSH())
	c.gc("start", c.path)

	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(far.Home, "work", name)) // nothing yet
		return string(b)
	}
	eventually(t, func() string { return "commands: " + read("ids") }, func() bool {
		_, err := os.Stat(filepath.Join(far.Home, "work", "begun"))
		return err == nil
	})
	early, late := strings.Fields(read("ids")), strings.Fields(read("late.ids"))
	if len(early)+len(late) != commands {
		t.Fatalf("%d and %d commands, want %d", len(early), len(late), commands)
	}
	// A link that was lost often waits up to 30 s before it is made again.
	reached := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !ok(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %+v", what, c.agents())
			}
		}
	}
	faults := map[string]int{}
	disturb := func(ids []string, most int) { // each fault makes the link wait longer
		t.Helper()
		missing := func() (list []string) {
			said := read("said")
			for _, id := range ids {
				if !strings.Contains(said, "[gc:evt "+id+"/exit]") {
					list = append(list, id)
				}
			}
			return list
		}
		for end := time.Now().Add(time.Duration(2*spread)*time.Second + time.Minute); len(missing()) > 0; {
			if time.Now().After(end) {
				t.Fatalf("not told of %v; faults %v; there: %s", missing(), faults, far.Run("gc process list; cat work/starts; tail -5 work/said"))
			}
			time.Sleep(rand.N(1500 * time.Millisecond)) // random on purpose
			if most--; most < 0 {
				continue
			}
			if rand.IntN(2) == 0 {
				far.Cut()
				faults["cut"]++
				continue
			}
			far.Down()
			time.Sleep(rand.N(time.Second))
			far.Up()
			faults["lost"]++
		}
	}
	disturb(early, commands)
	before := strings.Count(read("starts"), "start")
	reached("the owner is not stopped", func() bool { return c.agents()["owner"].State == cityapi.StateStopped })
	far.Write("work/go", "", 0o600)
	disturb(late, commands/5)
	if n := strings.Count(read("starts"), "start"); n == before {
		t.Errorf("it was told while it was stopped: %d starts", n)
	}
	reached("gc stop", func() bool { return c.run("--city", c.path, "stop").code == 0 })
	said := read("said")
	for _, id := range slices.Concat(early, late) {
		if n := strings.Count(said, "[gc:evt "+id+"/exit]"); n != 1 {
			t.Errorf("the end of %s was told %d times", id, n)
		}
	}
	t.Logf("%d commands, faults %v, %d starts of their owner", commands, faults, strings.Count(read("starts"), "start"))
}
