//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// TestFarAgentIsHeardOnce: an agent on another machine sends letters one after the other,
// and then drains itself, while the way to it is cut and lost, its multiplexer's server is
// killed and the city's controller is killed: each letter arrives once, in order, and then
// the drain. With GC_SOAK there are 500 letters.
func TestFarAgentIsHeardOnce(t *testing.T) {
	letters := 30
	if os.Getenv("GC_SOAK") != "" {
		letters = 500
	}
	far := sshd.Start(t, sshd.Options{GC: gcBin, Faults: true})
	script := fmt.Sprintf(`i=0
while [ $i -lt %d ]; do
	i=$((i + 1)); sleep 0.1
	gc mail send near "text $i" --subject "m$i" 2>>errors || echo "letter $i: status $?" >>errors
done
gc runtime drain 2>>errors
exec sleep 1000
`, letters)
	far.Write(".local/bin/talk", "#!/bin/sh\n"+script, 0o755)
	c := newCity(t, hostDaemon+
		"[[agents]]\nname = \"far\"\nsession = \""+far.URL()+"\"\nwork_dir = \""+far.Home+"/work\"\nstart_command = \"exec talk\"\n"+
		"[[agents]]\nname = \"near\"\nmail = \"never\"\nstart_command = \"exec sleep 1000\"\n")
	c.env = append(c.env, "GC_SSH="+far.SSH())
	c.gc("start", c.path)

	subjects := func() (all []string) {
		r := c.run("--city", c.path, "mail", "list", "--all", "--json")
		if r.code != 0 {
			return nil // between two controllers
		}
		var list []cityapi.Mail
		if err := json.Unmarshal([]byte(r.out), &list); err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			all = append(all, l.Subject)
		}
		return all
	}
	suffered := faults{}
	for end := time.Now().Add(5*time.Minute + time.Duration(letters)*2*time.Second); len(subjects()) < letters; {
		if time.Now().After(end) {
			t.Fatalf("%d of %d letters; faults %v; there: %s", len(subjects()), letters, suffered, far.Run("cat work/errors; gc mux outbox"))
		}
		time.Sleep(rand.N(time.Second)) // random on purpose
		suffered.strike(c, far)
	}
	eventually(t, func() string {
		return fmt.Sprintf("%+v; there: %s", c.agents()["far"], far.Run("cat work/errors; gc mux outbox"))
	}, func() bool {
		return c.agents()["far"].State == cityapi.StateStopped
	})
	for i, s := range subjects() {
		if want := fmt.Sprintf("m%d", i+1); s != want {
			t.Errorf("letter %d is %q, want %q", i+1, s, want)
		}
	}
	if n := len(subjects()); n != letters {
		t.Errorf("%d letters arrived, %d were sent", n, letters)
	}
	for _, line := range strings.Split(strings.TrimSpace(far.Run("cat work/errors")), "\n") {
		if !strings.HasPrefix(line, "queued in this machine's outbox") && line != "" {
			t.Errorf("there: %s", line)
		}
	}
	if r := c.run("--city", c.path, "events", "--kind", "outbox"); strings.Contains(r.out, "refused") {
		t.Errorf("events: %s", r.out)
	}
	t.Logf("%d letters, faults %v", letters, suffered)
}
