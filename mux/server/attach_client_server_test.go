//go:build unix

package server

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
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
	"gascity.dev/gc/vt"
)

// TestAttachReal attaches terminals to sessions of a real server. All cases share one
// server, because a server under the race detector takes seconds to end.
func TestAttachReal(t *testing.T) {
	t.Parallel()
	c := attachServer(t)
	for name, test := range map[string]func(*testing.T, *client.Client){
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
func attachServer(t *testing.T) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), persontest.Patience)
	defer cancel()
	c, err := client.Ensure(ctx, testPaths(t), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), persontest.Patience)
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
func startScript(t *testing.T, c *client.Client, script, ready string) api.SessionInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), persontest.Patience)
	defer cancel()
	info, err := c.Create(ctx, api.CreateRequest{Name: "demo", Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Kill(context.Background(), info.ID, persontest.Patience); err != nil {
			t.Error(err)
		}
	})
	waitText(t, c, ready)
	return info
}

// waitText waits until the session's screen shows text.
func waitText(t *testing.T, c *client.Client, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), persontest.Patience)
	defer cancel()
	r, err := c.Wait(ctx, "demo", api.WaitRequest{Conditions: []api.Condition{{Text: text}}})
	if err != nil || r.Met != 0 {
		t.Fatalf("%q is not shown: %+v, %v", text, r, err)
	}
}

// sessionSize returns the current size.
func sessionSize(t *testing.T, c *client.Client) api.Size {
	t.Helper()
	info, err := c.Get(context.Background(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size
}

// waitClients waits until n clients are attached.
func waitClients(t *testing.T, c *client.Client, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), persontest.Patience)
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

// everything is a program that uses every feature of a terminal, then echoes.
const everything = `printf '\033]2;the title\033\\'
printf 'on the primary screen\r\n\033[31mred\033[m\r\n'
printf '\033[?1049h\033[2J\033[H'
printf '\033[1;44mfull screen\033[m \342\225\255\342\224\200 \344\270\226\347\225\214\r\n'
printf '\033[10;20Hin the middle\033[?1002h\033[?1006h\033[?2004h\033[?1004h\033[?1h\033=\033[>1u\033[5 q'
printf '\033[12;3H\033[7mready\033[4m'
exec cat`

func attachRealPaint(t *testing.T, c *client.Client) {
	startScript(t, c, everything, "ready")
	p := persontest.New(t)
	p.Resize(120, 40)
	for range 2 {
		r := attachPerson(p, c, "demo", nil)
		p.Shows("ready")
		if diff := cmp.Diff(sessionScreen(t, c), personScreen(t, p)); diff != "" {
			t.Errorf("the terminal does not show the session (-session +terminal):\n%s", diff)
		}
		p.Types("\x1b[98;5u\x1b[98;5:3ud")
		r.want(attach.Detached)
		p.CheckRestored()
		p.Sees(string(vt.AppendReset(nil)))
		fresh, _ := vt.New(vt.Options{Cols: 120, Rows: 40})
		p.Mu.Lock()
		if diff := cmp.Diff(fresh.Modes(), p.Screen.Modes()); diff != "" || !p.Screen.Cursor().Visible {
			t.Errorf("modes after the detach (-fresh +terminal):\n%s", diff)
		}
		p.Seen = nil
		p.Mu.Unlock()
	}
}

// sessionScreen is the session's screen and personScreen the terminal's, in the format of
// peek, without the parts that may differ.
func sessionScreen(t *testing.T, c *client.Client) map[string]any {
	t.Helper()
	r, err := c.Peek(context.Background(), api.PeekRequest{Name: "demo", Format: api.FormatJSON, Screen: true})
	if err != nil {
		t.Fatal(err)
	}
	return comparable(t, *r.Screen)
}

func personScreen(t *testing.T, p *persontest.Person) map[string]any {
	t.Helper()
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return comparable(t, p.Screen.Screen())
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
	delete(m["modes"].(map[string]any), "colorScheme") // the attachment asks for notifications
	return m
}

func attachRealTyping(t *testing.T, c *client.Client) {
	startScript(t, c, `stty -echo; echo ready; while read -r x; do echo "got $x"; done`, "ready")
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	p.Types("one\rtwo\r")
	p.Shows("got two")
	p.Types("\x02\x02\r\x02d")
	r.want(attach.Detached)
	if info, err := c.Get(context.Background(), "demo"); err != nil || info.Attached != 0 {
		t.Errorf("after the detach %d clients are counted, %v", info.Attached, err)
	}
	waitText(t, c, "^got$")
	p.CheckRestored()
}

func attachRealExit(t *testing.T, c *client.Client) {
	startScript(t, c, "echo ready; read x; echo the end; exit 7", "ready")
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	p.Types("\r")
	if res := r.want(attach.Exited); res.Exit == nil || res.Exit.Code != 7 || res.Exit.Reason != api.ReasonExited {
		t.Errorf("exit %+v", res.Exit)
	}
	p.Sees("the end")
	p.CheckRestored()
}

func attachRealKilled(t *testing.T, c *client.Client) {
	info := startScript(t, c, "echo ready; exec cat", "ready")
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	if err := unix.Kill(info.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if res := r.want(attach.Exited); res.Exit == nil || res.Exit.Signal != "SIGKILL" {
		t.Errorf("exit %+v", res.Exit)
	}
	p.CheckRestored()
}

func attachRealResize(t *testing.T, c *client.Client) {
	startScript(t, c, `trap 'stty size' WINCH; echo ready; while :; do read x; done`, "ready")
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("24 80")
	p.Resize(100, 30)
	p.Resized <- struct{}{}
	p.Shows("30 100")
	p.Types("\x02d")
	r.want(attach.Detached)
	waitText(t, c, "40 120")
	if s := sessionSize(t, c); s != (api.Size{Cols: api.DefaultCols, Rows: api.DefaultRows}) {
		t.Errorf("size after the detach: %+v", s)
	}
}

// attachRealSmall: a read-only terminal smaller than the session shows the part with the
// cursor.
func attachRealSmall(t *testing.T, c *client.Client) {
	startScript(t, c, `stty -echo; for i in $(seq 1 60); do echo "line $i"; done; echo ready; while read -r x; do printf '\033[Hat the top %s' "$x"; done`, "ready")
	p := persontest.New(t)
	p.Resize(20, 5)
	r := attachPerson(p, c, "demo", func(o *attach.Options) { o.ReadOnly = true })
	p.Shows("line 60\nready")
	if s := sessionSize(t, c); s != (api.Size{Cols: api.DefaultCols, Rows: api.DefaultRows}) {
		t.Errorf("size: %+v", s)
	}
	p.Types("typed\r")
	if err := c.Keys(context.Background(), "demo", []string{"a", "Enter"}, false); err != nil {
		t.Fatal(err)
	}
	p.Shows("at the top a")
	p.Types("\x02d")
	r.want(attach.Detached)
	waitText(t, c, "at the top a$|at the top a[^t]")
	p.CheckRestored()
}

// attachRealSmallModes: modes that the session switches off go off on a terminal of
// another size too, and repeated paints leave nothing behind.
func attachRealSmallModes(t *testing.T, c *client.Client) {
	startScript(t, c, `stty -echo; echo ready; while read -r x; do case $x in
on) printf '\033[?1049h\033[2J\033[H\033[?1002h\033[?2004h\033[?1h\033[>1u\033[3;4HALT';;
off) printf '\033[<u\033[?1l\033[?2004l\033[?1002l\033[?1049lMAIN';;
*) printf '\033[2;1H%s\033[K' "$x";; esac; done`, "ready")
	p := persontest.New(t)
	p.Resize(20, 5)
	fresh, err := vt.New(vt.Options{Cols: 20, Rows: 5})
	if err != nil {
		t.Fatal(err)
	}
	r := attachPerson(p, c, "demo", func(o *attach.Options) { o.ReadOnly = true })
	p.Shows("ready")
	typed := func(line string) {
		if err := c.Keys(context.Background(), "demo", []string{line + "\r"}, true); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		typed("on")
		p.Shows("ALT")
		p.Await("the modes", func() bool {
			m := p.Screen.Modes()
			return m.AltScreen && m.Mouse == vt.MouseDrag && m.BracketedPaste && m.AppCursor && m.KittyFlags == 1
		})
		for i := range 5 {
			typed(fmt.Sprintf("text %d", i))
			p.Shows(fmt.Sprintf("text %d", i))
		}
		typed("off")
		p.Shows("MAIN")
		p.Await("no modes", func() bool {
			m := p.Screen.Modes()
			m.ColorScheme = false // the attachment asks for notifications
			return m == fresh.Modes()
		})
	}
	p.Mu.Lock()
	if n := p.Screen.HistoryLen(); n > 0 {
		t.Errorf("painting scrolled %d lines", n)
	}
	p.Mu.Unlock()
	p.Types("\x02d")
	r.want(attach.Detached)
}

// attachRealTwo: the size follows the client that typed last.
func attachRealTwo(t *testing.T, c *client.Client) {
	startScript(t, c, `stty -echo; echo ready; while read -r x; do echo "got $x"; done`, "ready")
	big, small := persontest.New(t), persontest.New(t)
	big.Resize(130, 50)
	rb := attachPerson(big, c, "demo", nil)
	big.Shows("ready")
	rs := attachPerson(small, c, "demo", nil)
	small.Shows("ready")
	waitClients(t, c, 2)
	if s := sessionSize(t, c); s != (api.Size{Cols: 130, Rows: 50}) {
		t.Errorf("size with the first: %+v", s)
	}
	small.Types("small\r")
	small.Shows("got small")
	big.Shows("got small")
	if s := sessionSize(t, c); s != (api.Size{Cols: 80, Rows: 24}) {
		t.Errorf("size with the second: %+v", s)
	}
	small.Types("\x02d")
	rs.want(attach.Detached)
	waitClients(t, c, 1)
	if s := sessionSize(t, c); s != (api.Size{Cols: 130, Rows: 50}) {
		t.Errorf("size after the second left: %+v", s)
	}
	big.Types("\x02d")
	rb.want(attach.Detached)
}

// attachRealQueries: the server answers queries, once, and the terminal gets none.
func attachRealQueries(t *testing.T, c *client.Client) {
	startScript(t, c, `stty raw -echo; printf 'ready\r\n'
while :; do k=$(dd bs=1 count=1 2>/dev/null); printf '\033[c\033[6n\033]11;?\033\\\033[>q\033[?u\033[?2026$p'
dd bs=1 count=1 2>/dev/null | od -An -c | tr -d '\n'; printf 'asked %s\r\n' "$k"; done`, "ready")
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	p.Sees(attach.Questions)
	p.Mu.Lock()
	p.Screen.TakeReplies() // replies to the attachment's first queries
	p.Mu.Unlock()
	p.Types("x")
	p.Shows("asked x")
	p.Mu.Lock()
	if answers := p.Screen.TakeReplies(); len(answers) > 0 {
		t.Errorf("the terminal was asked, and answers %q", answers)
	}
	p.Mu.Unlock()
	p.Types("\x02d")
	r.want(attach.Detached)
}

// attachRealServerKilled: attached terminals reconnect to the new server.
func attachRealServerKilled(t *testing.T, c *client.Client) {
	startScript(t, c, `stty -echo; echo ready; while read -r x; do echo "got $x"; done`, "ready")
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	for i := range 3 {
		st, err := c.Status(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(st.Server.PID, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waitClients(t, c, 1)
		p.Types(fmt.Sprintf("again %d\r", i))
		p.Shows(fmt.Sprintf("got again %d", i))
	}
	p.Types("\x02d")
	r.want(attach.Detached)
	p.CheckRestored()
}

// attachRealScrollback: the history is painted first, into the terminal's own.
func attachRealScrollback(t *testing.T, c *client.Client) {
	startScript(t, c, `for i in $(seq 1 200); do echo "line $i"; done; echo ready; exec cat`, "ready")
	p := persontest.New(t)
	p.Resize(api.DefaultCols, api.DefaultRows)
	r := attachPerson(p, c, "demo", func(o *attach.Options) { o.Scrollback = true })
	p.Shows("ready")
	p.Types("\x02d")
	r.want(attach.Detached)
	p.Sees(string(vt.AppendReset(nil)))
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if text := p.Screen.Text(vt.TextOptions{}); !strings.Contains(text, "line 1\nline 2\n") || !strings.Contains(text, "line 199\nline 200\nready") {
		t.Errorf("the terminal's history:\n%s", text)
	}
}

// attachRealMissing: without a session the terminal is not touched.
func attachRealMissing(t *testing.T, c *client.Client) {
	p := persontest.New(t)
	start := time.Now()
	if _, err := attachPerson(p, c, "demo", nil).ended(); err == nil || time.Since(start) > persontest.Patience/2 {
		t.Errorf("error %v after %v", err, time.Since(start))
	}
	p.CheckRestored()
}

// attachRealAlone: a client that wants to be alone disconnects the others for good. They
// learn why, and their terminals are restored.
func attachRealAlone(t *testing.T, c *client.Client) {
	startScript(t, c, `echo ready; exec cat`, "ready")
	var people []*persontest.Person
	var runs []*attachRun
	for i := range 4 {
		p := persontest.New(t)
		runs = append(runs, attachPerson(p, c, "demo", func(o *attach.Options) { o.ReadOnly, o.Alone = i == 1, i == 3 }))
		p.Shows("ready")
		people = append(people, p)
	}
	for i := range 3 {
		runs[i].want(attach.Kicked)
		people[i].CheckRestored()
	}
	waitClients(t, c, 1)
	people[3].Types("alone\r")
	people[3].Shows("alone")
	people[3].Types("\x02d")
	runs[3].want(attach.Detached)
}
