//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

// newFar simulates another machine on this one: an sshd with its own keys that
// serves one connection per ssh, as this user, and whose commands have their
// own mux.
func newFar(t *testing.T, b *box) {
	t.Helper()
	need(t, "ssh")
	sshd, keygen := needSbin(t, "sshd"), need(t, "ssh-keygen")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(b.dir, "ssh")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"host", "me"} {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	server := write("sshd_config", fmt.Sprintf(`
HostKey %[1]s/host
AuthorizedKeysFile %[1]s/me.pub
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
SetEnv PATH=%[2]s:%[3]s HOME=%[1]s GC_MUX_SOCKET=%[1]s/mux.sock FAR=yes
`, dir, filepath.Dir(gcBin), os.Getenv("PATH")))
	hostKey := strings.Fields(b.read(filepath.Join(dir, "host.pub")))
	known := write("known", "far "+strings.Join(hostKey[:2], " ")+"\n")
	client := write("ssh_config", fmt.Sprintf(`
Host far
  User %s
  IdentityFile %s/me
  IdentitiesOnly yes
  UserKnownHostsFile %s
  StrictHostKeyChecking yes
  ProxyCommand %s -i -e -f %s 2>>%s/log
`, me.Username, dir, known, sshd, server, dir))
	b.env = append(b.env, "GC_SSH=ssh -F "+client, "GC_HOST=ssh://far")
	t.Cleanup(func() {
		b.run("mux", "stop", "--force")
		b.env = b.env[:len(b.env)-2]
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("sshd:\n%s", log)
		}
	})
}

// TestAnotherMachine: everything but files works through a real ssh.
func TestAnotherMachine(t *testing.T) {
	b := newBox(t)
	newFar(t, b)
	if r := b.run("mux", "status"); r.code != 3 || !strings.Contains(r.err, "no mux server") {
		t.Fatalf("%s", r)
	}
	b.gc(append([]string{"session", "new", name, "--"}, b.bashArgs()...)...)
	b.waits("text=^ready>")
	b.gc("session", "nudge", name, "echo $((40 + 2)) at $PWD")
	b.waits("text=^42 at " + filepath.Join(b.dir, "ssh"))
	p := b.sit(100, 30, "session", "attach", name)
	p.sees(`^42 at`)
	p.types("stty size\r")
	p.sees(`^30 100`)
	p.types("for i in $(seq 1 3000); do echo line $i; done\r")
	p.sees(`^line 3000`)
	p.resize(80, 24)
	p.types("stty size\r")
	p.sees(`^24 80`)
	p.types("\x02d")
	if code := p.done(); code != 0 {
		t.Errorf("exit %d", code)
	}
	p.restored()
	if s := b.session(name); s.Attached != 0 {
		t.Errorf("%d attached", s.Attached)
	}
	here := &box{t: t, dir: b.dir, home: b.home, socket: b.socket, env: append(b.env[:len(b.env):len(b.env)], "GC_HOST=")}
	if r := here.run("mux", "status"); r.code != 3 {
		t.Errorf("a server is here: %s", r)
	}
	b.gc("session", "kill", name)
}
