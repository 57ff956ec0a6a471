//go:build unix

package mux

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// TestAttachReal attaches terminals to sessions of a real server; all of it to
// one, as a server under the race detector takes seconds to end.
func TestAttachReal(t *testing.T) {
	t.Parallel()
	c := attachServer(t)
	for name, test := range map[string]func(*testing.T, *Client){
		"paint":         attachRealPaint,
		"typing":        attachRealTyping,
		"exit":          attachRealExit,
		"killed":        attachRealKilled,
		"resize":        attachRealResize,
		"small":         attachRealSmall,
		"small, modes":  attachRealSmallModes,
		"two":           attachRealTwo,
		"queries":       attachRealQueries,
		"server killed": attachRealServerKilled,
		"scrollback":    attachRealScrollback,
		"missing":       attachRealMissing,
		"alone":         attachRealAlone,
		"filter":        attachRealFilter,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

// attachServer starts a real server for one test.
func attachServer(t *testing.T) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := Ensure(ctx, testPaths(t), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Shutdown(ctx, true); err != nil {
			t.Error(err)
		}
		c.Close()
	})
	return c
}

// startScript starts a session that runs a script of sh, and waits until its
// screen shows ready.
func startScript(t *testing.T, c *Client, script, ready string) api.SessionInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	info, err := c.Create(ctx, api.CreateRequest{Name: "demo", Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Kill(context.Background(), info.ID, patience); err != nil {
			t.Error(err)
		}
	})
	waitText(t, c, ready)
	return info
}

// waitText waits until the session's screen shows text.
func waitText(t *testing.T, c *Client, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.Wait(ctx, "demo", api.WaitRequest{Conditions: []api.Condition{{Text: text}}})
	if err != nil || r.Met != 0 {
		t.Fatalf("%q is not shown: %+v, %v", text, r, err)
	}
}

// sessionSize returns the size in force.
func sessionSize(t *testing.T, c *Client) api.Size {
	t.Helper()
	info, err := c.Get(context.Background(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size
}

// waitClients waits until n clients are attached.
func waitClients(t *testing.T, c *Client, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	events, err := c.Events(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	for {
		info, err := c.Get(ctx, "demo")
		if err != nil {
			t.Fatal(err)
		}
		if info.Attached == n {
			return
		}
		if _, err := events.Next(); err != nil {
			t.Fatalf("%d clients, want %d: %v", info.Attached, n, err)
		}
	}
}

// everything is a program that uses what a terminal has, and then echoes.
const everything = `printf '\033]2;the title\033\\'
printf 'on the primary screen\r\n\033[31mred\033[m\r\n'
printf '\033[?1049h\033[2J\033[H'
printf '\033[1;44mfull screen\033[m \342\225\255\342\224\200 \344\270\226\347\225\214\r\n'
printf '\033[10;20Hin the middle\033[?1002h\033[?1006h\033[?2004h\033[?1004h\033[?1h\033=\033[>1u\033[5 q'
printf '\033[12;3H\033[7mready\033[4m'
exec cat`

func attachRealPaint(t *testing.T, c *Client) {
	startScript(t, c, everything, "ready")
	p := newPerson(t)
	p.resize(120, 40)
	for range 2 {
		r := attachPerson(p, c, "demo", nil)
		p.shows("ready")
		if diff := cmp.Diff(sessionScreen(t, c), personScreen(t, p)); diff != "" {
			t.Errorf("the terminal does not show the session (-session +terminal):\n%s", diff)
		}
		p.types("\x1b[98;5u\x1b[98;5:3ud")
		r.want(AttachDetached)
		p.checkRestored()
		p.sees(string(vt.AppendReset(nil)))
		fresh, _ := vt.New(vt.Options{Cols: 120, Rows: 40})
		p.mu.Lock()
		if diff := cmp.Diff(fresh.Modes(), p.screen.Modes()); diff != "" || !p.screen.Cursor().Visible {
			t.Errorf("modes after the detach (-fresh +terminal):\n%s", diff)
		}
		p.seen = nil
		p.mu.Unlock()
	}
}

// sessionScreen is the session's screen, and personScreen the terminal's, in
// the form of peek without what may differ.
func sessionScreen(t *testing.T, c *Client) map[string]any {
	t.Helper()
	r, err := c.Peek(context.Background(), api.PeekRequest{Name: "demo", Format: api.FormatJSON, Screen: true})
	if err != nil {
		t.Fatal(err)
	}
	return comparable(t, *r.Screen)
}

func personScreen(t *testing.T, p *person) map[string]any {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	return comparable(t, p.screen.Screen())
}

func comparable(t *testing.T, s vt.Screen) map[string]any {
	t.Helper()
	b, err := json.Marshal(s)
	var m map[string]any
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(m, "revision")
	delete(m["modes"].(map[string]any), "colorScheme") // the attachment asks to be told
	return m
}

func attachRealTyping(t *testing.T, c *Client) {
	startScript(t, c, `stty -echo; echo ready; while read -r x; do echo "got $x"; done`, "ready")
	p := newPerson(t)
	r := attachPerson(p, c, "demo", nil)
	p.shows("ready")
	p.types("one\rtwo\r")
	p.shows("got two")
	p.types("\x02\x02\r\x02d")
	r.want(AttachDetached)
	if info, err := c.Get(context.Background(), "demo"); err != nil || info.Attached != 0 {
		t.Errorf("after the detach %d clients are counted, %v", info.Attached, err)
	}
	waitText(t, c, "^got$")
	p.checkRestored()
}

func attachRealExit(t *testing.T, c *Client) {
	startScript(t, c, "echo ready; read x; echo the end; exit 7", "ready")
	p := newPerson(t)
	r := attachPerson(p, c, "demo", nil)
	p.shows("ready")
	p.types("\r")
	if res := r.want(AttachExited); res.Exit == nil || res.Exit.Code != 7 || res.Exit.Reason != api.ReasonExited {
		t.Errorf("exit %+v", res.Exit)
	}
	p.sees("the end")
	p.checkRestored()
}

func attachRealKilled(t *testing.T, c *Client) {
	info := startScript(t, c, "echo ready; exec cat", "ready")
	p := newPerson(t)
	r := attachPerson(p, c, "demo", nil)
	p.shows("ready")
	if err := unix.Kill(info.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if res := r.want(AttachExited); res.Exit == nil || res.Exit.Signal != "SIGKILL" {
		t.Errorf("exit %+v", res.Exit)
	}
	p.checkRestored()
}

func attachRealResize(t *testing.T, c *Client) {
	startScript(t, c, `trap 'stty size' WINCH; echo ready; while :; do read x; done`, "ready")
	p := newPerson(t)
	r := attachPerson(p, c, "demo", nil)
	p.shows("24 80")
	p.resize(100, 30)
	p.resized <- struct{}{}
	p.shows("30 100")
	p.types("\x02d")
	r.want(AttachDetached)
	waitText(t, c, "40 120")
	if s := sessionSize(t, c); s != (api.Size{Cols: api.DefaultCols, Rows: api.DefaultRows}) {
		t.Errorf("size after the detach: %+v", s)
	}
}

// attachRealSmall: a terminal that is smaller than the session and may not
// change it shows the part with the cursor.
func attachRealSmall(t *testing.T, c *Client) {
	startScript(t, c, `stty -echo; for i in $(seq 1 60); do echo "line $i"; done; echo ready; while read -r x; do printf '\033[Hat the top %s' "$x"; done`, "ready")
	p := newPerson(t)
	p.resize(20, 5)
	r := attachPerson(p, c, "demo", func(o *AttachOptions) { o.ReadOnly = true })
	p.shows("line 60\nready")
	if s := sessionSize(t, c); s != (api.Size{Cols: api.DefaultCols, Rows: api.DefaultRows}) {
		t.Errorf("size: %+v", s)
	}
	p.types("typed\r")
	if err := c.Keys(context.Background(), "demo", []string{"a", "Enter"}, false); err != nil {
		t.Fatal(err)
	}
	p.shows("at the top a")
	p.types("\x02d")
	r.want(AttachDetached)
	waitText(t, c, "at the top a$|at the top a[^t]")
	p.checkRestored()
}

// attachRealSmallModes: modes that go off in the session go off on a terminal
// of another size too, and painting again and again leaves nothing behind.
func attachRealSmallModes(t *testing.T, c *Client) {
	startScript(t, c, `stty -echo; echo ready; while read -r x; do case $x in
on) printf '\033[?1049h\033[2J\033[H\033[?1002h\033[?2004h\033[?1h\033[>1u\033[3;4HALT';;
off) printf '\033[<u\033[?1l\033[?2004l\033[?1002l\033[?1049lMAIN';;
*) printf '\033[2;1H%s\033[K' "$x";; esac; done`, "ready")
	p := newPerson(t)
	p.resize(20, 5)
	fresh, err := vt.New(vt.Options{Cols: 20, Rows: 5})
	if err != nil {
		t.Fatal(err)
	}
	r := attachPerson(p, c, "demo", func(o *AttachOptions) { o.ReadOnly = true })
	p.shows("ready")
	typed := func(line string) {
		if err := c.Keys(context.Background(), "demo", []string{line + "\r"}, true); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		typed("on")
		p.shows("ALT")
		p.await("the modes", func() bool {
			m := p.screen.Modes()
			return m.AltScreen && m.Mouse == vt.MouseDrag && m.BracketedPaste && m.AppCursor && m.KittyFlags == 1
		})
		for i := range 5 {
			typed(fmt.Sprintf("text %d", i))
			p.shows(fmt.Sprintf("text %d", i))
		}
		typed("off")
		p.shows("MAIN")
		p.await("no modes", func() bool {
			m := p.screen.Modes()
			m.ColorScheme = false // the attachment asks to be told
			return m == fresh.Modes()
		})
	}
	p.mu.Lock()
	if n := p.screen.HistoryLen(); n > 0 {
		t.Errorf("painting scrolled %d lines", n)
	}
	p.mu.Unlock()
	p.types("\x02d")
	r.want(AttachDetached)
}

// attachRealTwo: the size follows who typed last.
func attachRealTwo(t *testing.T, c *Client) {
	startScript(t, c, `stty -echo; echo ready; while read -r x; do echo "got $x"; done`, "ready")
	big, small := newPerson(t), newPerson(t)
	big.resize(130, 50)
	rb := attachPerson(big, c, "demo", nil)
	big.shows("ready")
	rs := attachPerson(small, c, "demo", nil)
	small.shows("ready")
	waitClients(t, c, 2)
	if s := sessionSize(t, c); s != (api.Size{Cols: 130, Rows: 50}) {
		t.Errorf("size with the first: %+v", s)
	}
	small.types("small\r")
	small.shows("got small")
	big.shows("got small")
	if s := sessionSize(t, c); s != (api.Size{Cols: 80, Rows: 24}) {
		t.Errorf("size with the second: %+v", s)
	}
	small.types("\x02d")
	rs.want(AttachDetached)
	waitClients(t, c, 1)
	if s := sessionSize(t, c); s != (api.Size{Cols: 130, Rows: 50}) {
		t.Errorf("size after the second left: %+v", s)
	}
	big.types("\x02d")
	rb.want(AttachDetached)
}

// attachRealQueries: the server answers, once, and the terminal is asked
// nothing.
func attachRealQueries(t *testing.T, c *Client) {
	startScript(t, c, `stty raw -echo; printf 'ready\r\n'
while :; do k=$(dd bs=1 count=1 2>/dev/null); printf '\033[c\033[6n\033]11;?\033\\\033[>q\033[?u\033[?2026$p'
dd bs=1 count=1 2>/dev/null | od -An -c | tr -d '\n'; printf 'asked %s\r\n' "$k"; done`, "ready")
	p := newPerson(t)
	r := attachPerson(p, c, "demo", nil)
	p.shows("ready")
	p.sees(outerQuestions)
	p.mu.Lock()
	p.screen.TakeReplies() // to what the attachment asked when it began
	p.mu.Unlock()
	p.types("x")
	p.shows("asked x")
	p.mu.Lock()
	if answers := p.screen.TakeReplies(); len(answers) > 0 {
		t.Errorf("the terminal was asked, and answers %q", answers)
	}
	p.mu.Unlock()
	p.types("\x02d")
	r.want(AttachDetached)
}

// attachRealServerKilled: attached terminals find the new server by
// themselves.
func attachRealServerKilled(t *testing.T, c *Client) {
	startScript(t, c, `stty -echo; echo ready; while read -r x; do echo "got $x"; done`, "ready")
	p := newPerson(t)
	r := attachPerson(p, c, "demo", nil)
	p.shows("ready")
	for i := range 3 {
		st, err := c.Status(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(st.Server.PID, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waitClients(t, c, 1)
		p.types(fmt.Sprintf("again %d\r", i))
		p.shows(fmt.Sprintf("got again %d", i))
	}
	p.types("\x02d")
	r.want(AttachDetached)
	p.checkRestored()
}

// attachRealScrollback: the history comes first, into the terminal's own.
func attachRealScrollback(t *testing.T, c *Client) {
	startScript(t, c, `for i in $(seq 1 200); do echo "line $i"; done; echo ready; exec cat`, "ready")
	p := newPerson(t)
	p.resize(api.DefaultCols, api.DefaultRows)
	r := attachPerson(p, c, "demo", func(o *AttachOptions) { o.Scrollback = true })
	p.shows("ready")
	p.types("\x02d")
	r.want(AttachDetached)
	p.sees(string(vt.AppendReset(nil)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := p.screen.Text(vt.TextOptions{}); !strings.Contains(text, "line 1\nline 2\n") || !strings.Contains(text, "line 199\nline 200\nready") {
		t.Errorf("the terminal's history:\n%s", text)
	}
}

// attachRealMissing: no session, nothing touched.
func attachRealMissing(t *testing.T, c *Client) {
	p := newPerson(t)
	start := time.Now()
	if _, err := attachPerson(p, c, "demo", nil).ended(); err == nil || time.Since(start) > patience/2 {
		t.Errorf("error %v after %v", err, time.Since(start))
	}
	p.checkRestored()
}

// attachRealAlone: a client that wants to be alone sends the others away, for
// good; they are told, and their terminals are as before.
func attachRealAlone(t *testing.T, c *Client) {
	startScript(t, c, `echo ready; exec cat`, "ready")
	var people []*person
	var runs []*attachRun
	for i := range 4 {
		p := newPerson(t)
		runs = append(runs, attachPerson(p, c, "demo", func(o *AttachOptions) { o.ReadOnly, o.Alone = i == 1, i == 3 }))
		p.shows("ready")
		people = append(people, p)
	}
	for i := range 3 {
		runs[i].want(AttachKicked)
		people[i].checkRestored()
	}
	waitClients(t, c, 1)
	people[3].types("alone\r")
	people[3].shows("alone")
	people[3].types("\x02d")
	runs[3].want(AttachDetached)
}
