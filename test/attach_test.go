//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The detach keys in the encodings used by terminals.
var detachKeys = map[string]string{
	"legacy":              "\x02d",
	"kitty":               "\x1b[98;5u\x1b[100u",
	"kitty, legacy d":     "\x1b[98;5ud",
	"modifyOtherKeys":     "\x1b[27;5;98~d",
	"split":               "\x02",
	"kitty with releases": "\x1b[98;5:1u\x1b[98;5:3u\x1b[100;1:1u",
}

// newBash returns a box with a shell in session x.
func newBash(t *testing.T) *box {
	t.Helper()
	b := newBox(t)
	b.gc(append([]string{"session", "new", name, "--"}, b.bashArgs()...)...)
	b.waits("text=^ready>")
	return b
}

func (b *box) waits(until string) {
	b.t.Helper()
	b.gc("session", "wait", name, "--until", until, "--timeout", patience.String())
}

func (b *box) screen() string { b.t.Helper(); return trim(b.gc("session", "peek", name)) }

func TestAttachTypesAndShows(t *testing.T) {
	b := newBash(t)
	b.gc("session", "nudge", name, `echo before $((40 + 2))`)
	b.waits("text=^before 42")

	p := b.sit(cols, rows, "session", "attach", name)
	p.sees(`^before 42`)
	if got := b.session(name).Attached; got != 1 {
		t.Errorf("%d attached", got)
	}
	p.types("echo typed $((20 + 3))\r")
	p.sees(`^typed 23`)
	eventually(t, func() string { return "the person sees\n" + p.screen() + "\nnot\n" + b.screen() }, func() bool { return p.screen() == b.screen() })

	// ctrl-b twice is one ctrl-b: readline moves back one character.
	p.types("echo ab\x02\x02X\r")
	p.sees(`^aXb`)
	p.types("\x02d")
	if code := p.done(); code != 0 {
		t.Errorf("exit %d", code)
	}
	p.restored()
	if s := b.session(name); s.State != "running" || s.Attached != 0 {
		t.Errorf("after detach: %+v", s)
	}
}

func TestDetachKeys(t *testing.T) {
	for encoding, keys := range detachKeys {
		t.Run(encoding, func(t *testing.T) {
			b := newBash(t)
			p := b.sit(cols, rows, "session", "attach", name)
			p.sees(`^ready>`)
			p.types(keys)
			if encoding == "split" {
				p.types("d")
			}
			if code := p.done(); code != 0 {
				t.Errorf("exit %d", code)
			}
			p.restored()
			if got := b.screen(); got != "ready>" {
				t.Errorf("the session got some of the keys:\n%s", got)
			}
		})
	}
}

func TestCustomDetachKeys(t *testing.T) {
	b := newBash(t)
	p := b.sit(cols, rows, "session", "attach", "--detach-keys", "ctrl-q,x", name)
	p.sees(`^ready>`)
	p.types("echo one\x02d\r") // ctrl-b moves back, d is typed
	p.sees(`^onde`)
	p.types("\x11x")
	p.done()
	p.restored()
}

// TestAttachRestoresAfterFullScreen: detaching from a program that enabled
// everything leaves nothing of it.
func TestAttachRestoresAfterFullScreen(t *testing.T) {
	b := newBox(t)
	script := b.file("modes.sh", `printf '\e[?1049h\e[?1000h\e[?1006h\e[?2004h\e[?1004h\e[?25l\e[>1u\e[?1h\e=\e[4;20r\e[31m\e[4hall on\e[4l\n'; read -r`)
	b.gc("session", "new", name, "--", need(t, "bash"), script)
	b.waits("text=all on")
	for _, end := range []string{"detach", "signal", "session end"} {
		p := b.sit(cols, rows, "session", "attach", name)
		p.sees(`all on`)
		eventually(t, func() string { return "the modes of the program are not set" }, func() bool {
			m := p.modes()
			return m.AltScreen && m.BracketedPaste && m.AppCursor
		})
		switch end {
		case "detach":
			p.types("\x02d")
		case "signal":
			p.signal(syscall.SIGTERM)
		default:
			b.gc("session", "keys", name, "Enter")
		}
		p.done()
		p.restored()
	}
}

func TestAttachShowsTheEnd(t *testing.T) {
	b := newBash(t)
	p := b.sit(cols, rows, "session", "attach", name)
	p.sees(`^ready>`)
	p.types("exit 7\r")
	p.done()
	p.restored()
	p.sees(`7`)
}

func TestAttachReadOnly(t *testing.T) {
	b := newBash(t)
	p := b.sit(80, 24, "session", "attach", "--read-only", name)
	p.sees(`^ready>`)
	p.types("echo no\r")
	b.gc("session", "nudge", name, "echo yes")
	p.sees(`^yes`)
	if strings.Contains(b.screen(), "no") {
		t.Errorf("input came through:\n%s", b.screen())
	}
	if s := b.session(name); s.Size.Cols != cols || s.Size.Rows != rows {
		t.Errorf("the size is %+v", s.Size)
	}
	p.types("\x02d")
	p.done()
	p.restored()
}

// TestSmallTerminal: the session takes the size of the client that types, and
// returns to its own when no client is attached.
func TestSmallTerminal(t *testing.T) {
	b := newBash(t)
	p := b.sit(50, 10, "session", "attach", name)
	p.sees(`^ready>`)
	p.types("stty size; seq 1 30; echo 'end of it'\r")
	p.sees(`^end of it`)
	if s := b.session(name); s.Size.Cols != 50 || s.Size.Rows != 10 {
		t.Errorf("the size is %+v", s.Size)
	}
	p.sees(`^30$`)
	p.resize(70, 15)
	p.types("stty size\r")
	p.sees(`^15 70`)
	p.types("\x02d")
	p.done()
	p.restored()
	eventually(t, func() string { return fmt.Sprint(b.session(name).Size) }, func() bool {
		s := b.session(name).Size
		return s.Cols == cols && s.Rows == rows
	})
	b.gc("session", "nudge", name, "stty size")
	b.waits("text=^40 120")
}

// TestTerminalSmallerThanTheScreen: a full-screen program larger than a
// read-only terminal is shown in part, and nothing breaks.
func TestTerminalSmallerThanTheScreen(t *testing.T) {
	b := newBox(t)
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "%03d %s|\n", i, strings.Repeat("=", 100))
	}
	b.gc("session", "new", name, "--", need(t, "vim"), "--clean", "-i", "NONE", "-n", b.file("wide.txt", text.String()))
	b.waits("text=^000 ")
	p := b.sit(30, 8, "session", "attach", "--read-only", name)
	p.sees(`(^000|^03\d) ={10}`)
	b.gc("session", "keys", name, "G")
	p.sees(`(^09\d|^06\d) ={10}`)
	p.types("\x02d")
	p.done()
	p.restored()
}

// TestTwoPeople: both see what either types; the size follows whoever typed
// last.
func TestTwoPeople(t *testing.T) {
	b := newBash(t)
	one := b.sit(100, 30, "session", "attach", name)
	two := b.sit(60, 20, "session", "attach", name)
	one.sees(`^ready>`)
	two.sees(`^ready>`)
	one.types("echo from one\r")
	two.sees(`^from one`)
	two.types("echo from two; stty size\r")
	one.sees(`^from two`)
	two.sees(`^20 60`)
	one.types("stty size\r")
	one.sees(`^30 100`)
	for _, p := range []*person{one, two} {
		p.types("\x02d")
		p.done()
		p.restored()
	}
}

// TestAttachToVim edits a file as a person would, at another terminal size.
func TestAttachToVim(t *testing.T) {
	b := newBox(t)
	file := filepath.Join(b.dir, "letter.txt")
	b.gc("session", "new", name, "--", need(t, "vim"), "--clean", "-i", "NONE", "-n", file)
	b.waits("text=^~")
	p := b.sit(cols, rows, "session", "attach", name)
	p.sees(`^~`)
	p.types("iDear ünï,\rbye")
	p.sees(`^bye`)
	p.types("\x1b") // alone: followed by ctrl-b it would be Alt-ctrl-b
	p.sees(`2,3`)
	p.types("\x02d")
	p.done()
	p.restored()
	p = b.sit(cols, rows, "session", "attach", name)
	p.sees(`^Dear`)
	p.types(":wq\r")
	p.done()
	p.restored()
	if got := b.read(file); got != "Dear ünï,\nbye\n" {
		t.Errorf("vim wrote %q", got)
	}
}

// TestDetachOthers: the other clients are detached, say so, and exit with
// status 0.
func TestDetachOthers(t *testing.T) {
	b := newBash(t)
	one := b.sit(cols, rows, "session", "attach", name)
	two := b.sit(60, 20, "session", "attach", name, "--read-only")
	one.sees(`^ready>`)
	two.sees(`^ready>`)
	three := b.sit(80, 24, "session", "attach", name, "--detach-others")
	three.sees(`^ready>`)
	for _, p := range []*person{one, two} {
		if code := p.done(); code != 0 {
			t.Errorf("exit %d", code)
		}
		p.restored()
		p.sees("detached from " + name + ": another terminal took the session")
	}
	three.types("stty size\r")
	three.sees(`^24 80`)
	three.types("\x02d")
	three.done()
	three.restored()
}

// TestAttachScrollback: the history goes into the terminal's own.
func TestAttachScrollback(t *testing.T) {
	b := newBash(t)
	b.gc("session", "nudge", name, "seq 1 300")
	b.waits("text=^300$")
	p := b.sit(cols, rows, "session", "attach", name, "--scrollback")
	p.sees(`^300$`)
	p.types("\x02d")
	p.done()
	p.restored()
	if all := p.everything(); !strings.Contains(all, "\n1\n2\n3\n") || !strings.Contains(all, "\n299\n300\n") {
		t.Errorf("the terminal's history:\n%s", all)
	}
}
