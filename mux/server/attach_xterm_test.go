//go:build unix && e2e

package server

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/persontest"
)

// xtermDir returns a directory with the pinned @xterm/headless and our script: the cached
// one for these files, or a new one from npm. No package scripts run.
func xtermDir(t *testing.T) string {
	t.Helper()
	var all []byte
	files := map[string][]byte{}
	for _, name := range []string{"outer.cjs", "package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", "xtermjs", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name], all = data, append(all, data...)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "gc-suites", fmt.Sprintf("xterm-headless-%x", sha256.Sum256(all))[:31])
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) }) // nothing is left after the rename
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	install.Dir = work
	if out, err := install.CombinedOutput(); err != nil {
		testenv.Missing(t, fmt.Sprintf("npm ci: %v\n%s", err, out))
	}
	if err := os.Rename(work, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// xtermJS is xterm.js as the terminal of a person.
type xtermJS struct {
	t      *testing.T
	in     io.WriteCloser
	states chan json.RawMessage
}

// newXtermJS shows the person's terminal in xterm.js, which answers the queries.
func newXtermJS(t *testing.T, p *persontest.Person) *xtermJS {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		testenv.Missing(t, "node: "+err.Error())
	}
	cmd := exec.Command(node, "outer.cjs", fmt.Sprint(api.DefaultCols), fmt.Sprint(api.DefaultRows))
	cmd.Dir, cmd.Stderr = xtermDir(t), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &xtermJS{t: t, in: in, states: make(chan json.RawMessage, 1)}
	done := make(chan struct{})
	go func() { defer close(done); x.answer(p, out) }()
	t.Cleanup(func() { in.Close(); <-done; _ = cmd.Wait() })
	p.Tap(func(b []byte) { x.ask(map[string]any{"write": b}) })
	return x
}

func (x *xtermJS) ask(request map[string]any) {
	line, err := json.Marshal(request)
	if err == nil {
		_, err = x.in.Write(append(line, '\n'))
	}
	if err != nil {
		x.t.Error(err)
	}
}

// answer types the replies of xterm.js, and passes on its states.
func (x *xtermJS) answer(p *persontest.Person, out io.Reader) {
	defer close(x.states)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var a struct {
			Reply []byte
			State json.RawMessage
		}
		if err := json.Unmarshal(line, &a); err != nil {
			x.t.Errorf("%q: %v", line, err)
			return
		}
		if len(a.Reply) > 0 {
			_, _ = p.Host.Write(a.Reply)
		}
		if a.State != nil {
			x.states <- a.State
		}
	}
}

// state is what a program may have left, by name, once everything so far is drawn.
func (x *xtermJS) state() map[string]json.RawMessage {
	x.t.Helper()
	x.ask(map[string]any{"state": true})
	raw, ok := <-x.states
	if !ok {
		x.t.Fatal("xterm.js has ended")
	}
	var s map[string]json.RawMessage
	if err := json.Unmarshal(raw, &s); err != nil {
		x.t.Fatal(err)
	}
	return s
}

// TestDetachLeavesNoTraceInXtermJS: TestDetachLeavesNoTrace with xterm.js as the terminal
// of the person: what it answers, and what it does not tell, is as before.
func TestDetachLeavesNoTraceInXtermJS(t *testing.T) {
	x := &traced{t: t, c: startServer(t), dir: t.TempDir()}
	p := persontest.New(t)
	p.Resize(api.DefaultCols, api.DefaultRows)
	outer := newXtermJS(t, p)
	// Not here: a shape of the cursor, because DECRQSS tells the configured one, and own tab
	// stops, of which xterm.js tells nothing.
	setups := []string{"\x1b[!p\x1b]0;mine\a", "\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b=\x1b]1;icon\a\x1b]2;other\a",
		"\x1b[4h\x1b[?7l\x1b[?25l"}
	eachProgram(t, func(what, output string) {
		t.Helper()
		p.Write(setups[x.n%len(setups)])
		before := outer.state()
		x.play(p, output, x.n%3 == 0)
		after := outer.state()
		var differ []string
		for name := range before {
			if string(before[name]) != string(after[name]) {
				differ = append(differ, fmt.Sprintf("%s is %s, was %s", name, after[name], before[name]))
			}
		}
		if differ != nil {
			t.Errorf("%s:\n%s", what, strings.Join(differ, "\n"))
		}
	})
}
