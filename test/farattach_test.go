//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// TestAttachOverCutSSH: while a program on another machine prints, the way there is cut
// again and again: what a person's terminal shows in the end is the session's screen, and
// each key arrived once. With GC_SOAK there are 200 cuts.
func TestAttachOverCutSSH(t *testing.T) {
	cuts := 10
	if os.Getenv("GC_SOAK") != "" {
		cuts = 200
	}
	far := sshd.Start(t, sshd.Options{GC: gcBin, Faults: true})
	far.Write(".local/bin/paint", `#!/bin/bash
stty -echo
printf 'ready> '
for ((n = 1; ; n++)); do
	read -r || exit
	printf '\e[H\e[2J'
	for ((i = 0; i < 200; i++)); do
		printf '\e[%d;%dm%d.%d: \e[4mthe same line\e[24m, ä 字 \e[38;5;%dmcolour\e[m\n' $((i % 2)) $((31 + i % 7)) $n $i $i
	done
	printf '\e[%d;40H\e[7mover it %d\e[m\e[28;1Hend %d.' $((n % 20 + 1)) $n $n
done
`, 0o755)
	c := newCity(t, hostDaemon+"[[agents]]\nname = \"far\"\nsession = \""+far.URL()+"\"\nwork_dir = \""+far.Home+"/work\"\n"+
		"ready_prompt_prefix = \"ready>\"\nstart_command = \"exec paint\"\n")
	c.env = append(c.env, "GC_SSH="+far.SSH())
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"far": run})
	p := c.sit(100, 30, "--city", c.path, "attach", "far")
	p.sees(`^ready>`)
	for n := range cuts {
		p.types("\r")
		time.Sleep(rand.N(40 * time.Millisecond)) // random on purpose: before, while and after it prints
		far.Cut()
		p.sees(fmt.Sprintf(`^end %d\.`, n+1))
		var there result
		eventually(t, func() string { return fmt.Sprintf("cut %d: the person sees\n%s\nnot\n%s", n, p.screen(), there) }, func() bool {
			there = c.run("--city", c.path, "peek", "far") // fails while the machine is away
			return there.code == 0 && trim(there.out) == p.screen()
		})
	}
	p.types("\x02d")
	if code := p.done(); code != 0 {
		t.Errorf("attach: exit %d", code)
	}
	t.Logf("%d cuts", cuts)
}

// TestCopyModeOverSSH: a person scrolls, searches and copies a session on another machine,
// and switches to another one there.
func TestCopyModeOverSSH(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin})
	c := newBox(t)
	c.env = append(c.env, "GC_SSH="+far.SSH(), "GC_HOST="+far.URL())
	t.Cleanup(func() { c.run("mux", "stop", "--force") })
	c.gc("session", "new", "log", "--", `for i in $(seq 1 3000); do echo "line $i there"; done; echo ready; exec cat`)
	c.gc("session", "new", "other", "--", "echo the other one there; exec cat")
	c.gc("session", "wait", "log", "--until", "text=^ready", "--timeout", patience.String())
	p := c.sit(80, 24, "session", "attach", "log")
	p.sees(`^ready`)
	p.types("\x02[")
	p.sees(`copy mode: q leaves`)
	p.types("g")
	p.sees(`^line 1 there`)
	p.types("/2000 there\r0v$y")
	p.copied("line 2000 there")
	p.sees(`^ready`)
	p.types("typed over ssh\r")
	p.sees(`^typed over ssh\ntyped over ssh`)
	p.types("\x02s")
	p.sees(`^attach to`)
	p.types("oth\r")
	p.sees(`^the other one there`)
	p.types("\x02d")
	if code := p.done(); code != 0 {
		t.Errorf("attach: exit %d", code)
	}
	p.sees(`^detached from other; it keeps running`)
	p.restored()
}
