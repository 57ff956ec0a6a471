//go:build e2e

package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shows logs a person's screen.
func (p *person) shows(what string) {
	p.t.Helper()
	p.t.Logf("%s:\n%s", what, p.screen())
}

// copied waits until the person's clipboard was set to a text (OSC 52).
func (p *person) copied(text string) {
	p.t.Helper()
	want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x1b\\"
	eventually(p.t, func() string { return fmt.Sprintf("%q is not copied; the person sees\n%s", text, p.screen()) }, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.raw), want)
	})
}

// TestCopyMode: a person scrolls, searches and copies inside attach, and output that comes
// meanwhile moves nothing and is there afterwards.
func TestCopyMode(t *testing.T) {
	b := newBash(t)
	b.gc("session", "nudge", name, `for i in $(seq 1 3000); do echo "line $i"; done; printf 'a needle: https://example.org/%0100d/end\n' 7; echo done`)
	b.waits("text=^done")
	p := b.sit(80, 24, "session", "attach", name)
	p.sees(`^gc: x; ctrl-b d detaches; ctrl-b \? lists the keys`)
	p.shows("on entry")
	p.sees(`^ready>$`)

	p.types("\x02[")
	p.sees(`copy mode: q leaves, / searches, Space selects, y copies`)
	p.shows("copy mode")
	p.types("?977\r")
	p.sees(`^line 2977`)
	p.shows("searched upwards")
	p.types("n")
	p.sees(`^line 1977`)
	p.types("g")
	p.sees(`^line 1$`)
	b.gc("session", "nudge", name, `for i in $(seq 1 200); do echo "later $i"; done; echo over`)
	b.waits("text=^over")
	p.types("jjV")
	p.sees(`\[2/`)
	if s := p.screen(); strings.Contains(s, "later") {
		t.Errorf("later output is shown:\n%s", s)
	}
	p.types("q")
	p.sees(`^over`)
	p.shows("left")

	p.types("\x02\x1b[5~?needle\r/https\rv/end\rey")
	p.copied("https://example.org/" + fmt.Sprintf("%0100d", 7) + "/end")
	p.sees(`^over`)
	p.types("echo go on\r")
	p.sees(`^go on`)

	p.types("\x02?")
	p.sees(`ctrl-b d +detach`)
	p.shows("the keys")
	p.types("q\x02d")
	p.done()
	p.sees(`^detached from x; it keeps running`)
	p.restored()
	p.shows("detached")
}

// TestSwitch: a person goes on to another session without leaving.
func TestSwitch(t *testing.T) {
	b := newBash(t)
	b.gc("session", "new", "other", "--", "sh", "-c", "echo the other one; exec cat")
	b.gc("session", "wait", "other", "--until", "text=other one", "--timeout", patience.String())
	p := b.sit(80, 24, "session", "attach", name)
	p.sees(`^ready>`)
	p.types("\x02s")
	p.sees(`^attach to`)
	p.shows("the sessions")
	p.types("oth\r")
	p.sees(`^the other one`)
	p.types("typed here\r")
	p.sees(`^typed here\ntyped here`)
	p.types("\x02s\x1b")
	p.types("\x02r")
	p.sees(`^typed here\ntyped here`)
	p.types("\x02d")
	p.done()
	p.sees(`^detached from other; it keeps running`)
	p.restored()
	if got := b.screen(); got != "ready>" {
		t.Errorf("the first session got some of the keys:\n%s", got)
	}
}

// TestCopyModeReadOnly: it works for a viewer of another size that may not type, and the
// program that ends meanwhile is seen to have ended.
func TestCopyModeReadOnly(t *testing.T) {
	b := newBash(t)
	b.gc("session", "nudge", name, `for i in $(seq 1 300); do echo "line $i"; done; echo done`)
	b.waits("text=^done")
	owner := b.sit(80, 24, "session", "attach", name)
	owner.sees(`^done`)
	p := b.sit(40, 8, "session", "attach", "--read-only", name)
	p.sees(`^done`)
	p.types("\x02[gjj")
	p.sees(`^line 2$`)
	owner.types("exit 3\r")
	owner.done()
	p.sees(`the program has ended`)
	p.types("q")
	p.done()
	p.sees(`exit 3|status 3|code 3`)
	p.restored()
}

// TestAttachKeysAreConfigurable: in a person's own file, which is checked.
func TestAttachKeysAreConfigurable(t *testing.T) {
	b := newBash(t)
	file := filepath.Join(b.home, ".config", "gc", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[attach]\nprefix = \"ctrl-a\"\ncopy = [\"Escape\"]\nwelcome = false\n[attach.copy_keys]\nquit = [\"x\"]\n")
	p := b.sit(80, 24, "session", "attach", name)
	p.sees(`^ready>`)
	p.types("\x01\x1b")
	p.sees(`copy mode: x leaves`)
	p.types("x\x01d")
	p.done()
	p.restored()

	write("[attach]\ncopi = [\"[\"]\n")
	p = b.sit(80, 24, "session", "attach", name)
	if code := p.done(); code == 0 {
		t.Error("an unknown key is no error")
	}
	p.sees(`unknown key "copi" in attach`)
	p.sees(`hint: did you mean "copy"\?`)
}

// TestCopyModeOverServerDeath: the server is killed while a person scrolls; they go on, and
// what they leave to is the session as it is.
func TestCopyModeOverServerDeath(t *testing.T) {
	b := newBash(t)
	b.gc("session", "nudge", name, `for i in $(seq 1 3000); do echo "line $i"; done; echo done`)
	b.waits("text=^done")
	p := b.sit(80, 24, "session", "attach", name)
	p.sees(`^done`)
	p.types("\x02[")
	p.sees(`copy mode`)
	kill9(t, b.status().Server.PID)
	b.gc("session", "nudge", name, "echo later")
	b.waits("text=^later")
	p.types("?line 12\r")
	p.sees(`^line 12\d*$`)
	p.types("g")
	p.sees(`^line 1$`)
	p.types("q")
	p.sees(`^later`)
	p.types("echo typed $((40 + 2))\r")
	p.sees(`^typed 42`)
	eventually(t, func() string { return "the person sees\n" + p.screen() + "\nnot\n" + b.screen() }, func() bool { return p.screen() == b.screen() })
	p.types("\x02d")
	p.done()
	p.restored()
}

// TestCopyModeOnAnotherMachine: through ssh, with a second person at the session.
func TestCopyModeOnAnotherMachine(t *testing.T) {
	b := newBox(t)
	newFar(t, b)
	b.gc("session", "new", name, "--", "bash", "--noprofile", "-i")
	b.waits("text=^ready>")
	b.gc("session", "nudge", name, `for i in $(seq 1 2000); do echo "line $i"; done; echo done`)
	b.waits("text=^done")
	p := b.sit(80, 24, "session", "attach", name)
	p.sees(`^done`)
	other := b.sit(60, 20, "session", "attach", name)
	other.sees(`^done`)
	p.types("\x02[?line 42\rVy")
	p.copied("line 429\n")
	p.types("\x02[g")
	p.sees(`^line 1$`)
	other.types("echo from the other\r")
	other.sees(`^from the other`)
	if s := p.screen(); strings.Contains(s, "from the other") {
		t.Errorf("what the other typed is shown:\n%s", s)
	}
	p.types("q")
	p.sees(`^from the other`)
	for _, one := range []*person{p, other} {
		one.types("\x02d")
		one.done()
		one.sees(`^detached from x`)
		one.restored()
	}
}
