//go:build e2e

package e2e

import (
	"encoding/base64"
	"os/exec"
	"testing"

	"gascity.dev/gc/internal/testenv/sshd"
)

// TestUICityOnAnotherMachine: --host shows the city that runs there, its agents are answered
// and attached to, and a lost connection is said and made again. Of several cities one is named;
// without a city there are the sessions.
func TestUICityOnAnotherMachine(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin, Faults: true})
	b := newBox(t)
	there := func(line string) {
		t.Helper()
		if out, err := exec.Command("/bin/sh", "-c", far.SSH()+` "$@"`, "ssh", far.Name, line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	put := func(path, text string) {
		there("mkdir -p $(dirname " + path + "); echo " + base64.StdEncoding.EncodeToString([]byte(text)) + " | base64 -d >" + path)
	}
	put("asks.sh", uiAsks)
	for _, name := range []string{"town", "village"} {
		put(name+"/city.toml", "[workspace]\nname = \""+name+"\"\n[[agents]]\nname = \"coder\"\nstart_command = \"bash ../asks.sh\"\n")
	}
	gone := func(args string) { // at the end
		_ = exec.Command("/bin/sh", "-c", far.SSH()+` "$@"`, "ssh", far.Name, args).Run() // it may be gone
	}
	t.Cleanup(func() { gone("gc --city town stop; gc --city village stop; gc mux stop --force") })

	there("gc session new alone -- cat")
	v := b.views("120x40", "version")
	v.line("export GC_SSH='" + far.SSH() + "'; clear; " + gcBin + " ui --host " + far.URL() + `; echo "ended with $?"`)
	v.sees(`^ gc sessions`, `^ . alone`)
	v.presses("q")
	v.sees("ended with 0")

	there("GC_TRUST=1 gc --city town start")
	v.line("clear; " + gcBin + " ui --host " + far.URL() + `; echo "ended with $?"`)
	v.sees(`^ gc town .*1 agent, 1 needs you`, `^ ! coder +question`, `│Do you want to proceed\?`)
	v.presses("1")
	v.sees(`Answer coder: Yes\? \[y/n\]`)
	v.presses("y")
	v.sees("the answer came", "coder: answered Yes")
	v.presses("Enter")
	v.seesNot("needs you")
	v.presses("'typed there", "Enter")
	v.sees(`^typed there`)
	v.presses("C-b", "d")
	v.sees("detached from gc-town-coder", "│typed there")
	far.Down()
	v.sees("LOST", `^ . coder`)
	far.Up()
	v.seesNot("LOST")
	v.presses("q")
	v.sees("ended with 0")

	there("GC_TRUST=1 gc --city village start")
	v.line("clear; " + gcBin + " ui --host " + far.URL() + `; echo "ended with $?"`)
	v.sees("several cities run: .*/town, .*/village", "hint: --city", "ended with 1")
	v.line("clear; " + gcBin + " ui --host " + far.URL() + ` --city village; echo "ended with $?"`)
	v.sees(`^ gc village .*1 agent`)
	v.presses("q")
	v.sees("ended with 0")
	v.line("clear; " + gcBin + " ui --host " + far.URL() + ` --city none; echo "ended with $?"`)
	v.sees("no city runs in none", "ended with 1")
}
