//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAttachInside: inside tmux, screen, ssh and a session of gc itself a person attaches,
// scrolls, copies and leaves, and the shell there gets none of the replies and keys.
func TestAttachInside(t *testing.T) {
	for _, outer := range []struct {
		name   string
		prefix string // what sends one ctrl-b to gc
		start  func(b *box) *person
	}{
		{"tmux", "\x02", func(b *box) *person {
			need(b.t, "tmux")
			socket := filepath.Join(b.dir, "tmux.sock")
			conf := b.file("tmux.conf", "set -g prefix C-a\nset -g status off\nset -s set-clipboard on\n")
			b.t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
			return b.sitAt(cols, rows, append([]string{"tmux", "-S", socket, "-f", conf, "new-session"}, b.bashArgs()...)...)
		}},
		{"screen", "\x02", func(b *box) *person {
			need(b.t, "screen")
			dir := filepath.Join(b.dir, "screens")
			if err := os.Mkdir(dir, 0o700); err != nil {
				b.t.Fatal(err)
			}
			b.env = append(b.env, "SCREENDIR="+dir)
			return b.sitAt(cols, rows, append([]string{"screen", "-c", "/dev/null", "-U"}, b.bashArgs()...)...)
		}},
		{"ssh", "\x02", func(b *box) *person {
			far := newFar(b.t, b) // the session is there, too
			return b.sitAt(cols, rows, "sh", "-c", far.SSH()+" -tt far bash --noprofile -i")
		}},
		{"gc", "\x02\x02", func(b *box) *person {
			b.gc(append([]string{"session", "new", "outer", "--"}, b.bashArgs()...)...)
			return b.sit(cols, rows, "session", "attach", "outer")
		}},
	} {
		t.Run(outer.name, func(t *testing.T) {
			b := newBox(t)
			p := outer.start(b)
			p.sees(`^ready>`)
			gc, shell := gcBin, b.bashArgs()
			if outer.name == "ssh" {
				gc, shell = "gc", []string{"bash", "--noprofile", "-i"}
			}
			b.gc(append([]string{"session", "new", name, "--"}, shell...)...)
			b.waits("text=^ready>")
			b.gc("session", "nudge", name, `for i in $(seq 1 300); do echo "line $i"; done; echo done`)
			b.waits("text=^done")
			p.types("clear; " + gc + " session attach " + name + "; echo left with $?\r")
			p.sees(`^done`)
			p.types(outer.prefix + "[")
			p.sees(`copy mode`)
			p.types("?line 7\r")
			p.sees(`^line 79$`)
			p.types("V")
			p.types("y")
			p.sees(`^done`)
			p.types("echo still $((40 + 2))\r")
			p.sees(`^still 42`)
			p.types(outer.prefix + "d")
			p.sees(`^detached from x; it keeps running`)
			p.sees(`^left with 0`)
			p.types("echo end $((40 + 3))\r")
			p.sees(`^end 43`)
			_, after, _ := strings.Cut(p.screen(), "left with 0")
			if want := "\nready> echo end $((40 + 3))\nend 43\nready>"; after != want {
				t.Errorf("the shell shows %q, want %q", after, want)
			}
			p.types("exit\r")
			if outer.name == "gc" {
				b.gc("session", "kill", name)
			}
			p.done()
		})
	}
}

// TestAttachManySettings: a person detaches while a session sends titles, colours, progress
// and pointer shapes without end; nothing of them stays.
func TestAttachManySettings(t *testing.T) {
	b := newBox(t)
	b.gc("session", "new", name, "--", need(t, "python3"), "-c", `
import os
part = b"".join(b"\x1b]0;title %d\x07\x1b]4;%d;#%06x\x07\x1b]10;#00ff%02x\x07\x1b]11;#10%02x00\x07\x1b]12;red\x07\x1b]9;4;1;%d\x07\x1b]22;wait\x07" % (i, i % 256, i, i % 256, i % 256, i % 100) for i in range(1000))
print("ready")
while True: os.write(1, part)
`)
	b.waits("text=^ready")
	for range 3 {
		p := b.sit(cols, rows, "session", "attach", name)
		eventually(t, func() string { return "not 10 MB came" }, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.raw) > 10<<20
		})
		p.types("\x02d")
		p.done()
		p.sees(`^detached from x`)
		p.restored()
		p.mu.Lock()
		all := string(p.raw)
		p.mu.Unlock()
		last := func(s string) int { return strings.LastIndex(all, s) }
		for set, undo := range map[string]string{"\x1b]4;": "\x1b]104", "\x1b]10;#": "\x1b]110", "\x1b]11;#": "\x1b]111", "\x1b]12;": "\x1b]112", "\x1b]9;4;1": "\x1b]9;4;0", "\x1b]0;title": "\x1b[23;0t"} {
			if last(set) < 0 || last(undo) < last(set) {
				t.Errorf("%q at %d is not undone by %q at %d", set, last(set), undo, last(undo))
			}
		}
	}
}

// TestAttachTwoColumns: a terminal of two columns, and an end by a signal in copy mode.
func TestAttachTwoColumns(t *testing.T) {
	b := newBash(t)
	p := b.sit(2, 3, "session", "attach", name)
	eventually(t, func() string { return "nothing is shown" }, func() bool { return p.screen() != "" })
	for _, keys := range []string{"\x02[", "k", "g", "v", "G", "/e\r", "n", "q", "\x02?", "q", "\x02s", "\x1b[B", "\x03", "\x02r", "\x02d"} {
		p.types(keys)
	}
	if code := p.done(); code != 0 {
		t.Errorf("exit %d", code)
	}
	p.restored()

	p = b.sit(80, 24, "session", "attach", name)
	p.sees(`^ready>`)
	p.types("\x02[")
	p.sees(`copy mode`)
	p.signal(syscall.SIGHUP)
	p.done()
	p.restored()
	eventually(t, func() string { return "the client is still attached" }, func() bool { return b.session(name).Attached == 0 })
}

// TestAttachDumb: a terminal that cannot move its cursor is told so.
func TestAttachDumb(t *testing.T) {
	b := newBash(t)
	b.env = append(b.env, "TERM=dumb")
	p := b.sit(80, 24, "session", "attach", name)
	if code := p.done(); code != 2 {
		t.Errorf("exit %d", code)
	}
	p.sees(`TERM=dumb`)
	p.sees(`^hint: peek`)
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(string(p.raw), "\x1b") {
		t.Errorf("it got %q", p.raw)
	}
}

// TestCopyModeLongHistory: 100,000 lines are searched at once, whatever is shown of them.
func TestCopyModeLongHistory(t *testing.T) {
	b := newBash(t)
	b.gc("session", "nudge", name, `echo "the needle"; for i in $(seq 1 100000); do echo "some line of output, number $i"; done; echo done`)
	b.waits("text=^done")
	p := b.sit(80, 24, "session", "attach", name)
	p.sees(`^done`)
	p.types("\x02[")
	p.sees(`copy mode`)
	p.types("?the needle\r")
	p.sees(`^the needle`)
	p.types("G/number 50000\r")
	p.sees(fmt.Sprintf(`number %d$`, 50000))
	p.types("q\x02d")
	p.done()
	p.restored()
}
