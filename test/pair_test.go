//go:build e2e

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func itoa(n int) string { return strconv.Itoa(n) }

// The size of both terminals.
const (
	cols = 120
	rows = 40
)

// pair is a program running twice, under gc and under tmux, with the same keys.
// Each copy has its own directory, so that both can write the same files.
type pair struct {
	*box
	gcDir, tmuxDir string
	tmuxBin        string
	tmuxEnv        []string
}

const name = "x" // of the gc session and of the tmux session

// bashArgs is an interactive shell whose prompt is "ready> ". A start file sets
// it: a shell that starts another may drop PS1 from the environment.
func (b *box) bashArgs() []string {
	b.t.Helper()
	return []string{need(b.t, "bash"), "--noprofile", "--rcfile", b.file("bashrc", "PS1='ready> '; unset HISTFILE\n"), "-i"}
}

// newPair starts argv in both; prepare fills each directory first.
func newPair(t *testing.T, prepare func(dir string), argv ...string) *pair {
	t.Helper()
	return newBox(t).pair(prepare, argv...)
}

func (b *box) pair(prepare func(dir string), argv ...string) *pair {
	t := b.t
	t.Helper()
	p := &pair{box: b, tmuxBin: need(t, "tmux")}
	p.gcDir, p.tmuxDir = filepath.Join(p.dir, "one"), filepath.Join(p.dir, "two")
	for _, d := range []string{p.gcDir, p.tmuxDir} {
		if out, err := exec.Command("mkdir", d).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if prepare != nil {
			prepare(d)
		}
	}
	p.gc(append([]string{"session", "new", name, "--cwd", p.gcDir, "--size", fmt.Sprintf("%dx%d", cols, rows), "--"}, argv...)...)

	// tmux's additions to the environment must not reach its programs, and gc's
	// must.
	inner := append([]string{"env", "-u", "TMUX", "-u", "TMUX_PANE", "-u", "TERM_PROGRAM", "-u", "TERM_PROGRAM_VERSION", "COLORTERM=truecolor"}, argv...)
	p.tmuxEnv = append(p.env, "TMUX_TMPDIR="+p.dir)
	t.Cleanup(func() { _ = p.tmuxCommand("kill-server").Run() }) // it ends with its last session
	p.tmux(append([]string{
		"start-server", ";", "set", "-g", "default-terminal", "xterm-256color", ";", "set", "-g", "status", "off", ";",
		"set", "-s", "escape-time", "0", ";", "set", "-g", "history-limit", "100000", ";",
		"new-session", "-d", "-s", name, "-x", itoa(cols), "-y", itoa(rows), "-c", p.tmuxDir, "--",
	}, inner...)...)
	return p
}

// tmux runs a command of the private tmux server.
func (p *pair) tmux(args ...string) string {
	p.t.Helper()
	out, err := p.tmuxCommand(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (p *pair) tmuxCommand(args ...string) *exec.Cmd {
	cmd := exec.Command(p.tmuxBin, append([]string{"-L", "e2e", "-f", "/dev/null"}, args...)...)
	cmd.Env, cmd.Dir = p.tmuxEnv, p.dir
	return cmd
}

// keys presses keys by name in both.
func (p *pair) keys(keys ...string) {
	p.t.Helper()
	p.gc(append([]string{"session", "keys", name}, keys...)...)
	p.tmux(append([]string{"send-keys", "-t", name}, keys...)...)
}

// text types characters in both.
func (p *pair) text(s string) {
	p.t.Helper()
	p.gc("session", "keys", "--literal", name, "--", s)
	p.tmux("send-keys", "-t", name, "-l", "--", s)
}

// nudge types a message and Enter in both; gc must see it submitted.
func (p *pair) nudge(s string) {
	p.t.Helper()
	if out := p.gc("session", "nudge", name, s); strings.TrimSpace(out) != "submitted" {
		p.t.Errorf("nudge: %q", out)
	}
	p.tmux("send-keys", "-t", name, "-l", "--", s)
	p.tmux("send-keys", "-t", name, "Enter")
}

// until waits until both screens have a matching line.
func (p *pair) until(re string) {
	p.t.Helper()
	p.gc("session", "wait", name, "--until", "text="+re, "--timeout", patience.String())
	match := regexp.MustCompile("(?m)" + re)
	screen := ""
	eventually(p.t, func() string { return "tmux: " + re + "\n" + screen }, func() bool {
		screen = p.tmuxScreen()
		return match.MatchString(screen)
	})
}

func (p *pair) gcScreen() string { return trim(p.gc("session", "peek", name)) }

func (p *pair) tmuxScreen() string { return trim(p.tmux("capture-pane", "-p", "-t", name)) }

// trim removes trailing blanks and trailing blank lines.
func trim(screen string) string {
	lines := strings.Split(screen, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// same waits until both screens are equal: the programs may still be painting.
func (p *pair) same() { p.t.Helper(); p.sameAfter(func(s string) string { return s }) }

// sameAfter compares the screens after applying mask.
func (p *pair) sameAfter(mask func(string) string) {
	p.t.Helper()
	p.equal(func() (string, string) { return mask(p.gcScreen()), mask(p.tmuxScreen()) })
}

// sameHistory compares scrollback and screen, wrapped lines joined.
func (p *pair) sameHistory() {
	p.t.Helper()
	p.equal(func() (string, string) {
		return trim(p.gc("session", "peek", name, "--all", "--join")), trim(p.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", name))
	})
}

// sameCursor compares the cursor positions.
func (p *pair) sameCursor() {
	p.t.Helper()
	p.equal(func() (string, string) {
		var peek struct {
			Screen struct{ Cursor struct{ Col, Row int } }
		}
		p.decode(p.gc("session", "peek", name, "--format", "json"), &peek)
		c := peek.Screen.Cursor
		return fmt.Sprintf("%d,%d", c.Col, c.Row), strings.TrimSpace(p.tmux("display", "-p", "-t", name, "#{cursor_x},#{cursor_y}"))
	})
}

func (p *pair) equal(both func() (gc, tmux string)) {
	p.t.Helper()
	var a, b string
	eventually(p.t, func() string { return "the screens are not equal (-tmux +gc)\n" + cmp.Diff(b, a) }, func() bool {
		a, b = both()
		return a == b
	})
}

// exit waits for the end of gc's program and returns its status.
func (p *pair) exit() int {
	p.t.Helper()
	p.gc("session", "wait", name, "--until", "exit", "--timeout", patience.String())
	s := p.session(name)
	if s.Exit == nil {
		p.t.Fatalf("%+v has no exit", s)
	}
	return s.Exit.Code
}
