package vt_test

import (
	"testing"

	"gascity.dev/gc/vt"
)

// TestHostTerminal: queries about the host terminal are answered for it; what the
// program set takes precedence.
func TestHostTerminal(t *testing.T) {
	term, err := vt.New(vt.Options{Cols: 100, Rows: 30})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(what, want string) {
		t.Helper()
		term.Write([]byte(what))
		if got := string(term.TakeReplies()); got != want {
			t.Errorf("%q: %q, want %q", what, got, want)
		}
	}
	ask("\x1b[16t", "\x1b[6;20;10t")
	light, dark := uint32(0xfdf6e3), uint32(0x586e75)
	term.SetHostTerminal(vt.HostTerminal{Foreground: &dark, Background: &light, CellWidth: 9, CellHeight: 18})
	ask("\x1b]10;?\x1b\\", "\x1b]10;rgb:5858/6e6e/7575\x1b\\")
	ask("\x1b]11;?\a", "\x1b]11;rgb:fdfd/f6f6/e3e3\a")
	ask("\x1b[16t", "\x1b[6;18;9t")
	ask("\x1b[14t", "\x1b[4;540;900t")
	ask("\x1b]11;#000000\a\x1b]11;?\a", "\x1b]11;rgb:0000/0000/0000\a")
	ask("\x1bc\x1b]111\a\x1b]11;?\a", "\x1b]11;rgb:fdfd/f6f6/e3e3\a")
	term.SetHostTerminal(vt.HostTerminal{})
	ask("\x1b[14t", "\x1b[4;600;1000t")
}

// TestHostTerminalChanges: a subscribed program is notified when the colours or the cell
// size change, and only then.
func TestHostTerminalChanges(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 20, Rows: 5})
	light, dark := uint32(0xfdf6e3), uint32(0x002b36)
	set := func(o vt.HostTerminal, want string) {
		t.Helper()
		term.SetHostTerminal(o)
		if got := string(term.TakeReplies()); got != want {
			t.Errorf("%+v: told %q, want %q", o, got, want)
		}
	}
	set(vt.HostTerminal{Background: &light, CellWidth: 9, CellHeight: 18}, "")
	term.Write([]byte("\x1b[?2031h"))
	set(vt.HostTerminal{Background: &dark, CellWidth: 8, CellHeight: 16}, "\x1b[?997;1n")
	term.Write([]byte("\x1b[?2048h"))
	term.TakeReplies()
	set(vt.HostTerminal{Background: &light, CellWidth: 8, CellHeight: 16}, "\x1b[?997;2n")
	set(vt.HostTerminal{Background: &light, CellWidth: 8, CellHeight: 16}, "")
	set(vt.HostTerminal{Background: &light, CellWidth: 9, CellHeight: 18}, "\x1b[48;5;20;90;180t")
	term.Write([]byte("\x1b[?2031l\x1b[?2048l"))
	set(vt.HostTerminal{}, "")
}

// TestQueryImages: a program learns whether the host terminal shows images. Without one
// that does, kitty's query is not answered.
func TestQueryImages(t *testing.T) {
	const da1, da1Sixel = "\x1b[?64;1;6;9;21;22;28;52c", "\x1b[?64;1;4;6;9;21;22;28;52c"
	for _, c := range []struct {
		shows       vt.Images
		query, want string
	}{
		{0, "\x1b[c", da1},
		{vt.ImagesKitty, "\x1b[c", da1},
		{vt.ImagesSixel, "\x1b[c", da1Sixel},
		{vt.ImagesSixel, "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", ""},
		{vt.ImagesKitty, "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", "\x1b_Gi=31;OK\x1b\\"},
		{vt.ImagesKitty, "\x1b_Gi=31,s=1,v=1,a=q,q=1,f=24;AAAA\x1b\\", ""},
		{vt.ImagesKitty, "\x1b_Gi=31,s=1,v=1,a=q,t=s,f=24;AAAA\x1b\\", "\x1b_Gi=31;EINVAL:only t=d\x1b\\"},
		{vt.ImagesKitty, "\x1b_Gi=31,s=1,v=1,a=q,t=s,q=2,f=24;AAAA\x1b\\", ""},
		{vt.ImagesKitty, "\x1b_Ga=q,s=1,v=1;AAAA\x1b\\", ""},
		{vt.ImagesKitty, "\x1b_Gi=31,a=T,s=1,v=1;AAAA\x1b\\", ""},
		{vt.ImagesKitty, "\x1b_Gi=3x\x1b\\", ""},
	} {
		term := mustNew(t, vt.Options{})
		term.SetHostTerminal(vt.HostTerminal{Images: c.shows})
		term.Write([]byte(c.query))
		if got := string(term.TakeReplies()); got != c.want {
			t.Errorf("%d, %q: %q, want %q", c.shows, c.query, got, c.want)
		}
	}
}
