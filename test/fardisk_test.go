//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// letterer repeats each line. At "talk" it sends letters until one is refused, from ~/go on;
// and three more after ~/go is gone. Then ~/sent has the subjects of those that were taken.
const letterer = `#!/bin/bash
body=$(head -c 6000 /dev/zero | tr '\0' x)
letter() {
	n=$((n + 1))
	text=$(gc mail send near "$body" --subject "m$n" 2>&1)
	local status=$?
	if [ $status = 0 ]; then sent+="m$n "; return 0; fi
	why+="m$n: status $status: $text; "
	return 1
}
talk() {
	until [ -e ~/go ]; do sleep 0.1; done
	while letter; do :; done
	mkdir ~/refused
	while [ -e ~/go ]; do sleep 0.1; done
	for i in 1 2 3; do letter; done
	echo "$why" >~/why
	echo "$sent" >~/sent.new && mv ~/sent.new ~/sent
}
printf '> '
while read -r line; do
	if [ "$line" = talk ]; then talk; else echo "said $line"; fi
	printf '> '
done
`

// TestFullDiskThere: when the disk of a machine is full, what runs there runs on and is
// heard; what needs space fails with the reason, and nothing half done is taken for done.
// Its server is killed meanwhile. With space again everything goes on, and what was
// accepted before is delivered once.
func TestFullDiskThere(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin, Own: &sshd.Own{Home: 96 << 20}})
	far.Write(".local/bin/letterer", letterer, 0o755)
	agents := hostDaemon + "[[agents]]\nname = \"near\"\nmail = \"never\"\nstart_command = \"exec sleep 1000\"\n" +
		"[[agents]]\nname = \"a\"\nsession = \"" + far.URL() + "\"\nwork_dir = \"" + far.Home + "/a\"\nready_prompt_prefix = \"> \"\nstart_command = \"exec letterer\"\n"
	c := newCity(t, agents)
	c.env = append(c.env, "GC_SSH="+far.SSH())
	over := filepath.Join(c.path, "over")
	if err := os.Mkdir(over, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three"} {
		if err := os.WriteFile(filepath.Join(over, name), []byte(strings.Repeat(name, 300<<10)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	far.FillHome(0)
	c.fails(1, []string{"session", "new", "x", "--host", far.URL(), "--", "cat"}, far.URL(), "the mux server did not start", "no space left on device")
	if r := c.run("start", c.path); r.code != 1 || !strings.Contains(r.err, "agent a: start gc-live-a: "+far.URL()+": the mux server did not start: ") ||
		!strings.Contains(r.err, "no space left on device\nhint: gc host check ") {
		t.Errorf("%s", r)
	}
	far.EmptyHome()
	c.becomes(map[string]cityapi.State{"near": run, "a": run})
	said := func(text string) {
		t.Helper()
		c.gc("--city", c.path, "nudge", "a", text)
		c.gc("--city", c.path, "wait", "a", "--timeout", "20s", "--until", "text=^said "+text+"$")
	}

	far.FillHome(2 << 20)
	said("with little space")
	c.write(agents + "[[agents]]\nname = \"b\"\noverlay_dir = \"over\"\nsession = \"" + far.URL() + "\"\nwork_dir = \"" + far.Home + "/b\"\nstart_command = \"exec sleep 1000\"\n")
	eventually(t, func() string { return fmt.Sprintf("%+v", c.agents()["b"]) }, func() bool {
		return strings.Contains(c.agents()["b"].Error, far.URL()+": overlay: stage ") && strings.Contains(c.agents()["b"].Error, "no space left on device")
	})
	if a := c.agents()["b"]; a.Hint != "free some space there" || a.State == run {
		t.Errorf("%+v", a)
	}
	if r := c.run("--city", c.path, "status"); !strings.Contains(r.out, "no space left on device") {
		t.Errorf("%s", r)
	}

	c.gc("--city", c.path, "nudge", "a", "talk")
	server := muxOf(t, far).Server.PID
	far.Down()
	far.FillHome(256 << 10)
	far.Write("go", "", 0o600)
	made := func(name string) func() bool {
		return func() bool {
			_, err := os.Stat(far.Path(name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			return err == nil
		}
	}
	eventually(t, func() string { return "no letter is refused" }, made("refused"))
	kill9(t, server)
	far.Up()
	if r := c.run("host", "check", far.URL()); r.code != 1 || !strings.Contains(r.out, "is full") {
		t.Errorf("%s", r)
	}
	far.EmptyHome()
	if err := os.Remove(far.Path("go")); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string { return "the letters are not sent" }, made("sent"))

	c.becomes(map[string]cityapi.State{"near": run, "a": run, "b": run})
	said("with space again")
	for _, name := range []string{"one", "two", "three"} {
		if got := far.Run("cat b/" + name); got != strings.Repeat(name, 300<<10) {
			t.Errorf("%s has %d bytes there", name, len(got))
		}
	}
	sent := strings.Fields(far.Run("cat sent"))
	var subjects []string
	eventually(t, func() string { return fmt.Sprintf("sent %q, arrived %q", sent, subjects) }, func() bool {
		var list []cityapi.Mail
		if err := json.Unmarshal([]byte(c.gc("--city", c.path, "mail", "list", "--all", "--json")), &list); err != nil {
			t.Fatal(err)
		}
		subjects = nil
		for _, l := range list {
			subjects = append(subjects, l.Subject)
		}
		return len(subjects) >= len(sent)
	})
	if !slices.Equal(subjects, sent) {
		t.Errorf("sent %q, arrived %q", sent, subjects)
	}
	why := far.Run("cat why")
	if !strings.Contains(why, "status 1: gc: the message is not sent: ") || !strings.Contains(why, "no space left on device\nhint: free some space") {
		t.Errorf("refused: %s", why)
	}
	t.Logf("%d letters were sent; refused: %s", len(sent), why)
	if a := c.agents()["a"]; a.Restarts != 0 {
		t.Errorf("%+v", a)
	}
}
