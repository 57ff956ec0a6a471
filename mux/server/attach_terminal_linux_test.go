package server

import (
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
	"golang.org/x/sys/unix"
)

// TestAttachHostTerminal: a program that asks for colours and pixels gets those
// of the size owner's terminal, and never sees the terminal's own answer.
func TestAttachHostTerminal(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "demo", `stty -echo -icanon min 1 time 0; echo ready; while read -r x; do
printf '\033]10;?\007\033]11;?\007\033[16t'; dd bs=1 count=$x 2>/dev/null | tr '\033\007' 'E\n'; done`)
	await(t, c, "demo", "ready")
	// Each answer has its own length: 2 colours of 24 bytes, cells of 10.
	const size = "58\r"
	p := persontest.New(t)
	if err := persontest.Control(p.Host, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 80, Row: 24, Xpixel: 80 * 12, Ypixel: 24 * 25})
	}); err != nil {
		t.Fatal(err)
	}
	r := attachPerson(p, c, "demo", nil)
	p.Sees(attach.Questions)
	p.Shows("ready")
	p.Types("\x1b]10;rgb:1111/2222/3333\x1b\\\x1b]11;rgb:fd/f6/e3\a\x1b[?62;c")
	awaitHost(t, c, func() bool {
		p.Types(size)
		p.Shows("E[6;")
		return p.Has("]10;rgb:1111/2222/3333") && p.Has("]11;rgb:fdfd/f6f6/e3e3") && p.Has("E[6;25;12t")
	})
	killServer(t, c)
	waitClients(t, c, 1)
	p.Forget()
	awaitHost(t, c, func() bool {
		p.Types(size)
		return p.Has("]11;rgb:fdfd/f6f6/e3e3")
	})
	p.Types("\x02d")
	r.want(attach.Detached)
	p.CheckRestored()
}

// awaitHost repeats the program's queries until is accepts the answers.
func awaitHost(t *testing.T, c *client.Client, is func() bool) {
	t.Helper()
	for end := time.Now().Add(persontest.Patience); !is(); {
		if time.Now().After(end) {
			t.Fatalf("the program gets no answer; it shows\n%s", screenText(t, c, "demo"))
		}
		ctx := t.Context()
		if _, err := c.Wait(ctx, "demo", api.WaitRequest{Conditions: []api.Condition{{Quiet: 50 * time.Millisecond}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAttachColoursChange: a program that asked for notifications gets one, and
// the new colours with its next query, even if it shows nothing itself. The
// terminal's own notification does not reach it.
func TestAttachColoursChange(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "demo", `stty -echo raw; printf '\033[?2031h\033[?2048hready\r\n'; while :; do dd bs=1 count=1 2>/dev/null | tr '\033' 'E'; done`)
	await(t, c, "demo", "ready")
	p := persontest.New(t)
	p.Resize(100, 30)
	r := attachPerson(p, c, "demo", nil)
	p.Sees(attach.Questions)
	await(t, c, "demo", `E\[48;30;100;`)
	p.Types("\x1b]11;rgb:fd/f6/e3\a\x1b[?62;c")
	await(t, c, "demo", `E\[\?997;2n`)
	p.Forget()
	p.Types("\x1b[?997;1n")
	p.Sees(attach.Questions)
	p.Types("\x1b]11;rgb:00/00/00\a\x1b[?62;c")
	await(t, c, "demo", `E\[\?997;1n`)
	if text := screenText(t, c, "demo"); strings.Count(text, "997") != 2 {
		t.Errorf("the program gets\n%s", text)
	}
	p.Types("\x02d")
	r.want(attach.Detached)
	p.Sees("\x1b[?2031l")
	p.CheckRestored()
}

// TestAttachLateAnswers: an answer that arrives after the detach keys does not
// become input of the shell that then has the terminal.
func TestAttachLateAnswers(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "demo", "echo ready; exec cat")
	await(t, c, "demo", "ready")
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	p.Types("\x02d")
	p.Types("\x1b]11;rgb:fd/f6/e3\a\x1b[?62;c")
	r.want(attach.Detached)
	p.CheckRestored()
	n := 0
	err := persontest.Control(p.Tty, func(fd int) (err error) { n, err = unix.IoctlGetInt(fd, unix.TIOCINQ); return err })
	if err != nil || n != 0 {
		t.Errorf("%d bytes are left in the terminal's input, %v", n, err)
	}
	await(t, c, "demo", "ready")
	if got := screenText(t, c, "demo"); got != "ready" {
		t.Errorf("the program got %q", got)
	}
}

// TestAttachImageAnswers: every terminal is asked about images, and the program gets only
// the answer of the one that was typed into last.
func TestAttachImageAnswers(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "demo", `stty -echo raw; printf 'ready\r\n'; while :; do dd bs=1 count=1 2>/dev/null | tr '\033' 'E'; done`)
	await(t, c, "demo", "ready")
	attach := func() *client.AttachConn {
		conn, err := c.Attach(t.Context(), api.AttachRequest{Name: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	types := func(conn *client.AttachConn, text string) {
		t.Helper()
		if err := conn.Write(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	first, second := attach(), attach()
	types(first, "1")
	await(t, c, "demo", "^1")
	types(second, "\x1b_Gi=1;OK\x1b\\\x1b[?2;0;9S")
	types(first, "\x1b_Gi=2;OK\x1b\\")
	await(t, c, "demo", `Gi=2;OK`)
	types(second, "2")
	await(t, c, "demo", `2$`)
	types(second, "\x1b[?2;0;7S")
	await(t, c, "demo", `7S`)
	if got := screenText(t, c, "demo"); got != `ready
1E_Gi=2;OKE\2E[?2;0;7S` {
		t.Errorf("the program got %q", got)
	}
}
