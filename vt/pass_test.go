package vt_test

import (
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// TestFilterRefuses: what detach could not undo, and what a program has no
// business doing on a person's terminal, is removed, alone and within tmux's
// passthrough.
func TestFilterRefuses(t *testing.T) {
	long := strings.Repeat("A", 100<<10)
	for name, s := range map[string]string{
		"keyboard lock":             "\x1b[2h",
		"local echo":                "\x1b[12l",
		"VT52":                      "\x1b[?2l",
		"other coding system":       "\x1b%@",
		"UTF-8 again":               "\x1b%G",
		"8-bit answers":             "\x1b G",
		"printer":                   "\x1b[5i",
		"printer of the screen":     "\x1b[?5i",
		"DECUDK":                    "\x1bP0;1|17/414243\x1b\\",
		"macro":                     "\x1bP1;0;0!zabc\x1b\\",
		"soft characters":           "\x1bP1;1;1{ @???\x1b\\",
		"status line":               "\x1b[2$~",
		"remote control":            "\x1bP@kitty-cmd{\"cmd\":\"ls\",\"version\":[0,26,0]}\x1b\\",
		"control mode of tmux":      "\x1bP1000p\x1b\\",
		"file transfer of kitty":    "\x1b]5113;ac=send;id=1\x1b\\",
		"clipboard of kitty":        "\x1b]5522;type=read\x1b\\",
		"download of iTerm2":        "\x1b]1337;File=name=YQ==;size=3:YWJj\a",
		"long download of iTerm2":   "\x1b]1337;File=name=YQ==;inline=0:" + long + "\a",
		"upload of iTerm2":          "\x1b]1337;RequestUpload=format=tgz\a",
		"profile of iTerm2":         "\x1b]1337;SetProfile=x\a",
		"program by ConEmu":         "\x1b]9;7;calc.exe\a",
		"macro of ConEmu":           "\x1b]9;6;Close(1)\a",
		"log file":                  "\x1b]46;/tmp/log\a",
		"font":                      "\x1b]50;fixed\a",
		"call of Emacs":             "\x1b]51;Efind-file /etc/passwd\a",
		"size of the window":        "\x1b[8;10;10t",
		"iconify":                   "\x1b[2t",
		"lines of the page":         "\x1b[36t",
		"132 columns":               "\x1b[?40h\x1b[?3h",
		"history":                   "\x1b[3J",
		"RIS":                       "\x1bc",
		"conformance level":         "\x1b[61\"p",
		"LEDs":                      "\x1b[1q",
		"self test":                 "\x1b[4;1y",
		"lines of double size":      "\x1b#3",
		"memory lock":               "\x1bl",
		"title of screen":           "\x1bktitle\x1b\\",
		"no repetition of keys":     "\x1b[?8l",
		"keys of Windows":           "\x1b[?9001h",
		"width policy":              "\x1b[?2027l",
		"in-band size":              "\x1b[?02048h",
		"other keys of xterm":       "\x1b[>1;2m",
		"titles in hexadecimal":     "\x1b[>1t",
		"highlight tracking":        "\x1b[1;1;1;1;9T",
		"transfer by ZMODEM":        "\x18",
		"answerback":                "\x05",
		"answerback in a sequence":  "\x1b[\x055i",
		"flow control":              "\x13",
		"C1 in UTF-8":               "\u009b5i",
		"DECID in UTF-8":            "\u009a",
		"title with C1":             "\x1b]2;a\u009b5i\a",
		"BEL within a string":       "\x1b^\a\u009b5i\x1b\\",
		"privacy message":           "\x1b^x\x1b\\",
		"unknown APC":               "\x1b_x\x1b\\",
		"unknown OSC":               "\x1b]31337;x\a",
		"unknown OSC, long":         "\x1b]31337;" + long + "\a",
		"title, long":               "\x1b]2;" + long + "\a",
		"unknown CSI":               "\x1b[1=z",
		"notices alive":             "\x1b]99;i=1:p=alive;\x1b\\",
		"question of kitty images":  "\x1b_Ga=q,i=1,s=1,v=1;AAAA\x1b\\",
		"file of kitty images":      "\x1b_Ga=T,t=f,f=100;L2V0Yy9wYXNzd2Q=\x1b\\",
		"memory of kitty images":    "\x1b_Gt=s,s=1,v=1;L3g=\x1b\\",
		"question by many colours":  "\x1b]4;1;rgb:00/00/00;2;?\a",
		"more than a sequence":      "\x1b[" + strings.Repeat("1;", 20<<10) + "m",
		"intermediates without end": "\x1b    G",
	} {
		wrapped := "\x1bPtmux;" + strings.ReplaceAll(s, "\x1b", "\x1b\x1b") + "\x1b\\"
		for _, in := range []string{s, wrapped} {
			if in == wrapped && (len(s) > 50<<10 || !strings.HasPrefix(s, "\x1b")) {
				continue // longer than a passthrough may be, or not a sequence
			}
			f := vt.HostFilter{Images: allImages}
			if got := string(f.Filter(nil, []byte("a"+in+"b"))); got != "ab" {
				t.Errorf("%s: %.40q passes as %.60q", name, in, got)
			}
		}
	}
}

// TestFilterParts: the allowed parts of a sequence pass.
func TestFilterParts(t *testing.T) {
	long := strings.Repeat("A", 100<<10)
	for in, want := range map[string]string{
		"\x1b[?2004;2;1006h":       "\x1b[?2004;1006h",
		"\x1b[2;4h":                "\x1b[4h",
		"\x1b[?2;2048s":            "",
		"\x1b[?25;2l":              "\x1b[?25l",
		"\x1b[\r1\x053m":           "\r\x1b[13m",
		"\u009b1m":                 "\x1b[1m",
		"\x1b]0;a\u009c":           "\x1b]0;a\x1b\\",
		"\x1b]52;c;" + long + "\a": "\x1b]52;c;" + long + "\a",
		"\x1b]1337;File=inline=1:" + long + "\x1b\\":   "\x1b]1337;File=inline=1:" + long + "\x1b\\",
		"\x1bPq" + long + "\x1b\\":                     "\x1bPq" + long + "\x1b\\",
		"\x1bPq" + long + "\a\x05\u009b5i\x1b\\":       "\x1bPq" + long + "5i\x1b\\",
		"\x1bPq" + long + "\x1b[5i":                    "\x1bPq" + long + "\x18",
		"\x1b]9;4;1;50\a\x1b]9;done\a\x1b]9;2;alert\a": "\x1b]9;4;1;50\a\x1b]9;done\a",
	} {
		f := vt.HostFilter{Images: allImages}
		if got := string(f.Filter(nil, []byte(in))); got != want {
			t.Errorf("%.60q passes as %.80q, want %.80q", in, got, want)
		}
	}
}

// TestFilterStale: removing something that changes the screen is reported,
// once.
func TestFilterStale(t *testing.T) {
	for in, want := range map[string]bool{
		"\x1b[?5W": true, "\x1bc": true, "\x1b%@": true, "\x1b[62\"p": true, "\x1b[?3l": true, "\x1bPtmux;\x1b\x1bc\x1b\\": true,
		"\x1b[2h": false, "\x1b[5i": false, "\x1b[31m": false,
	} {
		var f vt.HostFilter
		f.Filter(nil, []byte(in))
		if f.Stale() != want || f.Stale() {
			t.Errorf("%q: stale is not %v, once", in, want)
		}
	}
}

// TestUndo: what AppendReset leaves is undone if it was set, however the output
// was split.
func TestUndo(t *testing.T) {
	var none vt.Undo
	none.Note([]byte("\x1b]7;4;x\a\x1b[4;1m\x1b]104\a"))
	if got := none.Append(nil); len(got) > 0 {
		t.Errorf("nothing is undone by %q", got)
	}
	const out = "text\x1b]11;#000000\a\x1b]4;1;#ff0000\a\x1b]22;wait\a\x1b]9;4;1;50\a\x1b]2;title\a"
	const want = "\x1b]104\x1b\\\x1b]111\x1b\\\x1b]9;4;0\x1b\\\x1b]22;\x1b\\\x1b]2;\x1b\\"
	for size := 1; size <= len(out); size++ {
		var u vt.Undo
		for rest := out; rest != ""; {
			n := min(size, len(rest))
			u.Note([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got := string(u.Append(nil)); got != want {
			t.Fatalf("%d bytes a write: undone by %q, want %q", size, got, want)
		}
	}
}

// TestPaintTabs: a program's tab stops hold on the host terminal until the
// reset.
func TestPaintTabs(t *testing.T) {
	term, host := mustNew(t, vt.Options{Cols: 20, Rows: 3}), mustNew(t, vt.Options{Cols: 20, Rows: 3})
	term.Write([]byte("\x1b[3g\x1b[4G\x1bH\r"))
	host.Write(term.AppendPaint(nil, vt.PaintOptions{}))
	host.Write([]byte("\t"))
	if got := host.Cursor().Col; got != 3 {
		t.Errorf("a tab goes to column %d", got)
	}
	host.Write(vt.AppendReset(nil))
	host.Write([]byte("\t"))
	if got := host.Cursor().Col; got != 8 {
		t.Errorf("after the reset a tab goes to column %d", got)
	}
}

// TestFilterImages: a terminal gets the images that it shows. What it does not get makes its
// screen stale, because the emulator has moved the cursor, and only then.
func TestFilterImages(t *testing.T) {
	long := strings.Repeat("A", 100<<10)
	tooLong := strings.Repeat("A", 5<<20)
	for _, c := range []struct {
		in    string
		kind  vt.Images
		shown bool // it shows an image by itself
	}{
		{"\x1bPq~~\x1b\\", vt.ImagesSixel, true},
		{"\x1bP0;1q" + long + "\x1b\\", vt.ImagesSixel, true},
		{"\x1b_Ga=T,s=1,v=1;AAAA\x1b\\", vt.ImagesKitty, true},
		{"\x1b_Ga=T,s=1,v=1;" + long + "\x1b\\", vt.ImagesKitty, true},
		{"\x1b_Ga=t,i=1,s=1,v=1;AAAA\x1b\\", vt.ImagesKitty, false},
		{"\x1b_Gm=0;" + long + "\x1b\\", vt.ImagesKitty, false},
		{"\x1b]1337;File=inline=1:AAAA\a", vt.ImagesITerm, true},
		{"\x1b]1337;File=inline=1:" + long + "\x1b\\", vt.ImagesITerm, true},
		{"\x1b]1337;MultipartFile=inline=1\a", vt.ImagesITerm, true},
		{"\x1b]1337;FilePart=AAAA\a", vt.ImagesITerm, false},
		{"\x1b]1337;FileEnd\a", vt.ImagesITerm, false},
	} {
		for _, step := range []int{1, 7, len(c.in)} {
			can, cannot := vt.HostFilter{Images: c.kind}, vt.HostFilter{Images: allImages &^ c.kind}
			var with, without []byte
			for rest := []byte("a" + c.in + "b"); len(rest) > 0; {
				n := min(step, len(rest))
				with, without = can.Filter(with, rest[:n]), cannot.Filter(without, rest[:n])
				rest = rest[n:]
			}
			if string(with) != "a"+c.in+"b" || can.Stale() {
				t.Errorf("%.40q by %d bytes: passes as %.60q", c.in, step, with)
			}
			if string(without) != "ab" || cannot.Stale() != c.shown {
				t.Errorf("%.40q by %d bytes: passes as %.60q where it cannot be shown", c.in, step, without)
			}
		}
	}
	for _, in := range []string{"\x1bPq" + tooLong + "\x1b\\", "\x1b]1337;File=inline=1:" + tooLong + "\a"} {
		f := vt.HostFilter{Images: allImages}
		got := f.Filter(nil, []byte(in+"b"))
		if len(got) > 4<<20+64 || string(got[len(got)-2:]) != "\x18b" || !f.Stale() {
			t.Errorf("%.40q of %d bytes: passes as %d bytes that end with %q", in, len(in), len(got), got[len(got)-2:])
		}
	}
}

// TestFilterBegins: an image under way when a terminal is painted begins again after the
// paint, if all of it is known, and is left out otherwise.
func TestFilterBegins(t *testing.T) {
	const begin, end = "\x1bPq", "AA\x1b\\b"
	for n, whole := range map[int]bool{100 << 10: true, 2 << 20: false} {
		term := mustNew(t, vt.Options{})
		term.Write([]byte("text" + begin + strings.Repeat("A", n)))
		f := vt.HostFilter{Images: allImages}
		got := string(f.Filter(f.Begin(nil, term), []byte(end)))
		if whole != (got == begin+strings.Repeat("A", n)+end) || f.Stale() != !whole || !strings.HasSuffix(got, "b") {
			t.Errorf("%d bytes of an image: %d pass, and end with %q", n, len(got), got[len(got)-2:])
		}
	}
}

// TestUndoImages: images of kitty's protocol are taken off the screen.
func TestUndoImages(t *testing.T) {
	for size := 1; size < 8; size++ {
		var u vt.Undo
		for rest := "text\x1b_Ga=T,s=1,v=1;AAAA\x1b\\"; rest != ""; {
			n := min(size, len(rest))
			u.Note([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got := string(u.Append(nil)); !u.Images() || got != "\x1b_Ga=d,d=A,q=2\x1b\\" {
			t.Errorf("by %d bytes: undone by %q", size, got)
		}
	}
}
