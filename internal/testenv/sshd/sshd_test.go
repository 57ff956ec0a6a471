package sshd

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The host's commands run in its home, as its user, without the test's PATH.
func TestHostIsAnotherMachine(t *testing.T) {
	h := Start(t, Options{Name: "a", Env: []string{"FAR=yes two"}})
	got := h.Run(`cd; pwd; echo $HOME; echo "$FAR"; id -u; command -v gc || echo none`)
	want := strings.Join([]string{h.Home, h.Home, "yes two", strconv.Itoa(h.UID), "none", ""}, "\n")
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if os.Geteuid() == 0 && h.UID == 0 {
		t.Error("the host has no user of its own")
	}
}

// The same user with another home is another machine, too.
func TestSameUser(t *testing.T) {
	h := Start(t, Options{SameUser: true})
	if got := h.Run("echo $HOME; id -u"); got != h.Home+"\n"+strconv.Itoa(os.Geteuid())+"\n" {
		t.Errorf("got %q", got)
	}
	h.Run("setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo started")
	if found, err := h.Processes(); err != nil || len(found) == 0 {
		t.Errorf("found no process: %v", err)
	}
}

// ssh runs one command and returns its error's text.
func (h *Host) ssh(text string) (out, errs string, err error) {
	argv := append(strings.Fields(h.SSH()), h.Name, text)
	cmd := exec.Command(argv[0], argv[1:]...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

func TestOptions(t *testing.T) {
	greets := Start(t, Options{Name: "greets", Login: "echo hello; X=1; export X", GC: "/bin/true"})
	if got := greets.Run("echo $X; gc && echo ran"); got != "hello\n1\nran\n" {
		t.Errorf("login: %q", got)
	}
	forced := Start(t, Options{Name: "forced", Forced: "echo not that"})
	if got := forced.Run("echo this"); got != "not that\n" {
		t.Errorf("forced: %q", got)
	}
	unknown := Start(t, Options{Name: "unknown", UnknownKey: true})
	if _, errs, err := unknown.ssh("true"); err == nil || !strings.Contains(errs, "Host key verification failed") {
		t.Errorf("unknown key: %v, %s", err, errs)
	}
	both := exec.Command("sh", "-c", SSH(greets, forced)+" greets true && "+SSH(greets, forced)+" forced true")
	if out, err := both.CombinedOutput(); err != nil || string(out) != "hello\nnot that\n" {
		t.Errorf("one configuration: %v, %q", err, out)
	}
}

// open is a connection whose command repeats its input.
func (h *Host) open(t *testing.T) (in io.WriteCloser, out io.Reader, ended <-chan error) {
	t.Helper()
	argv := append(strings.Fields(h.SSH()), "-T", h.Name, "exec cat")
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	h.check(err)
	out, err = cmd.StdoutPipe()
	h.check(err)
	h.check(cmd.Start())
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill() })
	return in, out, over
}

// echo sends a line and returns how long its echo took.
func echo(t *testing.T, in io.Writer, out io.Reader) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := io.WriteString(in, "line\n"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 5)
	if _, err := io.ReadFull(out, buf); err != nil || string(buf) != "line\n" {
		t.Fatalf("%q, %v", buf, err)
	}
	return time.Since(began)
}

func TestCutAndDown(t *testing.T) {
	for _, faults := range []bool{false, true} {
		h := Start(t, Options{Name: "cut", Faults: faults})
		in, out, ended := h.open(t)
		echo(t, in, out)
		if n := h.Connections(); n != 1 {
			t.Errorf("%d connections", n)
		}
		h.Down()
		if err := <-ended; err == nil {
			t.Error("ssh did not notice the cut")
		}
		if _, errs, err := h.ssh("true"); err == nil {
			t.Errorf("down, and reached: %s", errs)
		}
		h.Up()
		h.Run("true")
	}
}

func TestStallAndDelay(t *testing.T) {
	h := Start(t, Options{Faults: true})
	in, out, _ := h.open(t)
	echo(t, in, out)
	const d = 50 * time.Millisecond
	h.Delay(d)
	if took := echo(t, in, out); took < 2*d {
		t.Errorf("an echo took %s", took)
	}
	h.Delay(0)
	h.Stall()
	const stalled = 30 * time.Millisecond
	time.AfterFunc(stalled, h.Resume)
	if took := echo(t, in, out); took < stalled {
		t.Errorf("an echo took %s during a stall", took)
	}
	h.Stall() // and the host still ends
}

// What a command leaves behind is there until End.
func TestEnd(t *testing.T) {
	h := Start(t, Options{})
	h.Run("setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo started")
	found := false
	procs, err := h.Processes()
	h.check(err)
	for _, p := range procs {
		found = found || p.Comm == "sleep" || p.Comm == "setsid"
	}
	if !found {
		t.Fatalf("no sleep in %+v", procs)
	}
	h.End()
	if left, err := h.Processes(); err != nil || len(left) > 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
}

// A host with its own terminals, disk and boots: the fault is real there, and this machine
// does not have it.
func TestOwn(t *testing.T) {
	const terminals, room = 2, 4 << 20
	h := Start(t, Options{GC: "/bin/true", Own: &Own{Terminals: terminals, Home: room}})
	argv := append(strings.Fields(h.SSH()), "-tt", h.Name)
	var users []*exec.Cmd
	for range terminals {
		cmd := exec.Command(argv[0], append(argv[1:], "echo in; exec sleep 1000")...)
		out, err := cmd.StdoutPipe()
		h.check(err)
		h.check(cmd.Start())
		users = append(users, cmd)
		if _, err := io.ReadFull(out, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
	}
	full := exec.Command(argv[0], append(argv[1:], "true")...)
	if out, _ := full.CombinedOutput(); !strings.Contains(string(out), "PTY allocation request failed") {
		t.Errorf("a terminal too many: %s", out)
	}
	for _, cmd := range users {
		h.check(cmd.Process.Kill())
		_ = cmd.Wait()
	}

	h.FillHome(0)
	if _, errs, err := h.ssh("cp /etc/passwd file"); err == nil || !strings.Contains(errs, "No space left") {
		t.Errorf("full: %v, %s", err, errs)
	}
	h.EmptyHome()
	h.Run("echo kept >file; setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo started")

	const facts = "cat /proc/sys/kernel/random/boot_id; cut -d. -f1 /proc/uptime"
	before := strings.Fields(h.Run(facts))
	h.Reboot(func() {
		if _, _, err := h.ssh("true"); err == nil {
			t.Error("it answers during a reboot")
		}
		if left, err := h.Processes(); err != nil || len(left) > 0 {
			t.Errorf("left: %+v, %v", left, err)
		}
	})
	after := strings.Fields(h.Run(facts))
	was, _ := strconv.Atoi(before[1])
	if up, err := strconv.Atoi(after[1]); err != nil || before[0] == after[0] || up >= was {
		t.Errorf("boot %s, then %s", before, after)
	}
	if got := h.Run("cat file"); got != "kept\n" {
		t.Errorf("after the reboot: %q", got)
	}
}
