package terminal

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// open returns a terminal, and what reads its other end.
func open(t *testing.T) (*Terminal, func(until string) string) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = master.Close(), tty.Close() })
	if err := pty.Setsize(master, &pty.Winsize{Cols: 10, Rows: 3}); err != nil {
		t.Fatal(err)
	}
	return &Terminal{In: tty, Out: tty, Mouse: true}, func(until string) string {
		t.Helper()
		return read(t, master, until)
	}
}

func read(t *testing.T, master *os.File, until string) string {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 4096)
	_ = master.SetReadDeadline(time.Now().Add(10 * time.Second)) // pty masters take one
	for !strings.HasSuffix(got.String(), until) {
		n, err := master.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
	}
	return got.String()
}

func rows(texts ...string) []Row {
	var out []Row
	for _, s := range texts {
		out = append(out, Row{Bytes: s, Cols: len(s)})
	}
	return out
}

func TestLeaveRestores(t *testing.T) {
	tm, reads := open(t)
	before, err := term.GetState(int(tm.In.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tm.Enter(); err != nil {
			t.Fatal(err)
		}
		reads(enterMouse)
		if now, _ := term.GetState(int(tm.In.Fd())); *now == *before {
			t.Error("the terminal is not in raw mode")
		}
		if err := tm.Leave(); err != nil {
			t.Fatal(err)
		}
		reads(leave)
		if now, _ := term.GetState(int(tm.In.Fd())); *now != *before {
			t.Errorf("modes %+v, were %+v", now, before)
		}
	}
	if err := tm.Leave(); err != nil {
		t.Error(err)
	}
	if wrote, _ := tm.Paint(Picture{Rows: rows("a"), Cols: 10}); wrote {
		t.Error("it painted on somebody else's terminal")
	}
	if cols, n := tm.Size(); cols != 10 || n != 3 {
		t.Errorf("size %d×%d", cols, n)
	}
}

// TestPaintWritesChanges: only rows that changed are written; without a change, nothing is.
func TestPaintWritesChanges(t *testing.T) {
	tm, reads := open(t)
	if err := tm.Enter(); err != nil {
		t.Fatal(err)
	}
	reads(enterMouse)
	const end = "\x1b[?2026l"
	paint := func(p Picture) {
		t.Helper()
		if wrote, err := tm.Paint(p); !wrote || err != nil {
			t.Fatalf("%v, %v", wrote, err)
		}
	}
	p := Picture{Rows: rows("one", "two", "full width"), Cols: 10, Title: "t"}
	paint(p)
	if got := reads(end); !strings.Contains(got, "one\x1b[0m\x1b[K") || !strings.Contains(got, "full width\x1b[0m\x1b]2;t\x1b\\") {
		t.Errorf("%q", got)
	}
	if wrote, _ := tm.Paint(Picture{Rows: rows("one", "two", "full width"), Cols: 10, Title: "t"}); wrote {
		t.Error("nothing changed, and it wrote")
	}
	paint(Picture{Rows: rows("one", "2", "full width"), Cols: 10, Title: "t", Cursor: Cursor{Shown: true, Row: 1, Col: 1}})
	if got, want := reads(end), "\x1b[?2026h\x1b[?25l\x1b[2;1H2\x1b[0m\x1b[K\x1b[2;2H\x1b[?25h"+end; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	paint(p)
	if got := reads(end); strings.Contains(got, "?25h") || strings.Contains(got, "one") {
		t.Errorf("%q", got)
	}
	tm.Forget()
	paint(p)
	if got := reads(end); !strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("%q", got)
	}
}
