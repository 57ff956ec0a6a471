//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
	"gascity.dev/gc/mux/api"
)

// reporter starts a background command; from ~/go on, its first incarnation sends letters.
const reporter = `#!/bin/sh
echo start >>~/starts
gc exec --bg --notify always -- 'sleep 1000' >>~/commands
until [ -e ~/go ]; do sleep 0.1; done
if [ ! -e ~/sent ]; then
	for i in 1 2 3; do gc mail send near "text $i" --subject "m$i" && echo "m$i" >>~/sent; done
	touch ~/done
fi
exec sleep 1000
`

// TestHostIsRebooted: after a reboot of a machine its sessions are ended, by the reboot;
// its agents start again, once; what they said before is delivered once; its commands are
// lost; the times there are right.
func TestHostIsRebooted(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin, Own: &sshd.Own{}})
	far.Write(".local/bin/reporter", reporter, 0o755)
	c := newCity(t, hostDaemon+"[[agents]]\nname = \"near\"\nmail = \"never\"\nstart_command = \"exec sleep 1000\"\n"+
		"[[agents]]\nname = \"a\"\nsession = \""+far.URL()+"\"\nwork_dir = \""+far.Home+"/a\"\nstart_command = \"exec reporter\"\n")
	c.env = append(c.env, "GC_SSH="+far.SSH())
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"near": run, "a": run})
	c.gc("session", "new", "plain", "--host", far.URL(), "--", "cat")
	exists := func(name string) func() bool {
		return func() bool {
			_, err := os.Stat(far.Path(name))
			return err == nil
		}
	}
	eventually(t, func() string { return "no command is started" }, exists("commands"))
	far.Down()
	far.Write("go", "", 0o600)
	eventually(t, func() string { return "the letters are not sent" }, exists("done"))
	far.Reboot(func() {
		c.becomes(map[string]cityapi.State{"near": run, "a": away})
	})
	began := time.Now()

	running := map[string]cityapi.State{"near": run, "a": run}
	c.becomes(running)
	a := c.agents()["a"]
	if a.Restarts != 1 || a.LastExit == nil || a.LastExit.Reason != "rebooted" {
		t.Errorf("%+v, exit %+v", a, a.LastExit)
	}
	if out := c.gc("--city", c.path, "events"); !strings.Contains(out, "a crashed, ended by a reboot, on "+far.URL()) {
		t.Errorf("%s", out)
	}
	if r := c.run("session", "peek", "plain", "--host", far.URL()); r.code != 3 || !strings.Contains(r.err, "session not found") {
		t.Errorf("%s", r)
	}
	subjects := func() (all []string) {
		var list []cityapi.Mail
		if err := json.Unmarshal([]byte(c.gc("--city", c.path, "mail", "list", "--all", "--json")), &list); err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			all = append(all, l.Subject)
		}
		return all
	}
	eventually(t, func() string { return fmt.Sprint(subjects()) }, func() bool { return len(subjects()) >= 3 })

	first, _, _ := strings.Cut(far.Run("cat commands"), "\n")
	type process struct {
		SessionID string    `json:"sessionId"`
		Status    string    `json:"status"`
		EndedAt   time.Time `json:"endedAt"`
	}
	var ps struct {
		Processes []process `json:"processes"`
	}
	if err := json.Unmarshal([]byte(far.Run("gc process list --json")), &ps); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(ps.Processes, func(p process) bool { return p.SessionID == first })
	if at < 0 {
		t.Fatalf("no command %s in %+v", first, ps.Processes)
	}
	if p := ps.Processes[at]; p.Status != "lost" || p.EndedAt.Before(began.Add(-time.Second)) || p.EndedAt.After(time.Now().Add(time.Second)) {
		t.Errorf("the command before the reboot: %+v", p)
	}
	var list []api.SessionInfo
	if err := json.Unmarshal([]byte(far.Run("gc session list --json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Created.Before(began.Add(-time.Second)) || s.Created.After(time.Now().Add(time.Second)) {
			t.Errorf("%s is from %v, and the host is up since %v", s.Name, s.Created, began)
		}
	}

	// Another controller has the same, and everything was delivered once.
	c.killController()
	c.gc("start", c.path)
	c.becomes(running)
	if got := fmt.Sprint(subjects()); got != "[m1 m2 m3]" {
		t.Errorf("letters: %s", got)
	}
	if n := strings.Count(far.Run("cat starts"), "start"); n != 2 {
		t.Errorf("%d starts", n)
	}
}
