package server

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"gascity.dev/gc/mux/keys"
	"golang.org/x/sys/unix"
)

// receiverVar makes the test binary an agent's composer in raw mode, where Enter
// within burstTime of other input is a newline, as in real agents. Its value is the
// kind: "paste" switches mode 2004 on, "plain" does not, "mute" shows nothing. "agent"
// is like paste, but Ctrl-U clears a line, and an unknown /command is refused and stays.
// "drawn", "loads" and "starved" are runDrawn.
const (
	receiverVar = "MUX_TEST_RECEIVER"
	burstTime   = 120 * time.Millisecond
)

// runReceiver shows the composer's content behind "> " and writes every
// submitted message, quoted, as a line of the file in MUX_TEST_OUT.
func runReceiver(mode string) int {
	out, err := os.OpenFile(os.Getenv("MUX_TEST_OUT"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	if err := rawTerminal(0); err != nil {
		fmt.Println(err)
		return 1
	}
	if mode == "drawn" || mode == "loads" || mode == "starved" {
		return runDrawn(out, mode)
	}
	if mode == "paste" || mode == "agent" {
		fmt.Print("\x1b[?2004h")
	}
	r := &receiver{out: out, mute: mode == "mute", agent: mode == "agent", die: os.Getenv("MUX_TEST_DIE")}
	fmt.Print("ready\r\n> ")
	buf := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil || n == 0 {
			return 0
		}
		dieIf(r.die == "read")
		if mode == "slow" {
			time.Sleep(time.Millisecond)
		}
		r.take(buf[:n])
	}
}

// runDrawn is a composer that paints its own cursor and hides the terminal's below it. It
// ignores the first Enter, which only changes its status line or, with loads, hides the
// composer for a moment. Starved, it takes the first Enter, and paints nothing for three
// seconds after the text.
func runDrawn(out *os.File, mode string) int {
	text, said, enters := "", "", 0
	if mode == "starved" {
		enters = 1
	}
	paint := func() {
		fmt.Printf("\x1b[?25l\x1b[2J\x1b[Htalk\r\n%s\r\n──────────\r\n> %s\r\n──────────\r\n%d enters", said, text, enters)
	}
	paint()
	buf := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil || n == 0 {
			return 0
		}
		for _, b := range buf[:n] {
			if b != '\r' {
				text += string(b)
				continue
			}
			if enters++; enters > 1 {
				fmt.Fprintf(out, "%q\n", text)
				said, text = text, ""
			} else if mode == "loads" {
				fmt.Print("\x1b[2J\x1b[Htalk\r\nloading")
				time.Sleep(time.Second)
			}
		}
		if mode == "starved" && text != "" {
			time.Sleep(3 * time.Second)
		}
		paint()
	}
}

type receiver struct {
	out   *os.File
	echo  strings.Builder // of one read
	mute  bool
	agent bool
	text  []byte
	last  time.Time // of the last byte other than Enter
	paste bool
	die   string // where it kills itself; "no": it does not, but echoes submitted messages
}

func dieIf(now bool) {
	if now {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
}

func (r *receiver) take(p []byte) {
	now := time.Now()
	defer func() {
		fmt.Print(r.echo.String())
		r.echo.Reset()
	}()
	for len(p) > 0 {
		switch {
		case bytes.HasPrefix(p, []byte(keys.PasteStart)):
			r.paste, p = true, p[len(keys.PasteStart):]
			continue
		case bytes.HasPrefix(p, []byte(keys.PasteEnd)):
			r.paste, r.last, p = false, now, p[len(keys.PasteEnd):]
			continue
		}
		b := p[0]
		p = p[1:]
		if r.agent && b == ctrlU {
			i := bytes.LastIndexByte(r.text, '\n')
			r.text = r.text[:max(i, 0)]
			if i >= 0 {
				r.show("\r\x1b[K\x1b[A")
				continue
			}
			r.show("\r\x1b[K> ")
			continue
		}
		if r.agent && b == '\r' && !r.paste && bytes.HasPrefix(r.text, []byte("/")) {
			r.show("\r\x1b[Kunknown command\r\n> " + strings.ReplaceAll(string(r.text), "\n", "\r\n"))
			continue
		}
		if b == '\r' && !r.paste && now.Sub(r.last) > burstTime {
			dieIf(r.die == "submit")
			fmt.Fprintf(r.out, "%q\n", r.text)
			if r.die != "" {
				fmt.Printf("\r\nsaid %q\r\n", r.text)
			}
			dieIf(r.die == "said")
			r.text = nil
			r.show("\r\nok\r\n> ")
			continue
		}
		if b == '\r' {
			b = '\n'
		}
		if b == 4 && len(r.text) == 0 {
			os.Exit(0)
		}
		r.text, r.last = append(r.text, b), now
		r.show(strings.ReplaceAll(string([]byte{b}), "\n", "\r\n"))
	}
}

func (r *receiver) show(s string) {
	if !r.mute {
		r.echo.WriteString(s)
	}
}

func rawTerminal(fd int) error {
	t, err := unix.IoctlGetTermios(fd, tcgets)
	if err != nil {
		return err
	}
	t.Iflag &^= unix.ICRNL | unix.IXON | unix.ISTRIP | unix.INLCR | unix.IGNCR
	t.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, tcsets, t)
}
