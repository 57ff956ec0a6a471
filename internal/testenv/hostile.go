package testenv

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Hostile is output that makes a terminal store as much as possible.
type Hostile struct {
	Name string
	item func(w io.Writer, i int) // the i-th piece
}

// slow names the output that is much work per byte for a terminal.
var slow = map[string]bool{"clusters": true, "counts": true}

// WriteTo writes at least size bytes of it, or a sixteenth of that if it is slow.
func (h Hostile) WriteTo(w io.Writer, size int64) error {
	if slow[h.Name] {
		size /= 16
	}
	c := counted{w: w}
	b := bufio.NewWriterSize(&c, 64<<10)
	for i := 0; c.n < size && c.err == nil; i++ {
		h.item(b, i)
	}
	return b.Flush()
}

type counted struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

var (
	filler = strings.Repeat("x", 4000)
	text   = strings.Repeat("z", 12<<10)
	long   = strings.Repeat("y", 64<<10)
)

// HostileOutput returns every kind of it.
func HostileOutput() []Hostile {
	return slices.Concat(hostileLinks(), hostileCommands(), hostileStrings(), hostileText())
}

// hostileLinks: hyperlinks, and a screen that is held back.
func hostileLinks() []Hostile {
	return []Hostile{
		{"links", func(w io.Writer, i int) { fmt.Fprintf(w, "\x1b]8;;http://%d/%s\x1b\\l\x1b]8;;\x1b\\\r\n", i, filler) }},
		{"links-in-a-line", func(w io.Writer, i int) { fmt.Fprintf(w, "\x1b]8;;http://%d/%s\x1b\\l", i, filler) }},
		{"two-links", func(w io.Writer, i int) {
			if i == 0 {
				fmt.Fprintf(w, "\x1b]8;;http://a/%s\x1b\\a\x1b7\x1b]8;;http://b/%s\x1b\\", filler, filler)
			}
			fmt.Fprintf(w, "\x1b]8;;h:%d\x1b\\l\x1b]8;;http://a/%s\x1b\\m", i%2, filler)
		}},
		{"link-parameters", func(w io.Writer, i int) { fmt.Fprintf(w, "\x1b]8;x=%s;http://%d/\x1b\\l", long, i) }},
		{"held-updates", func(w io.Writer, i int) {
			fmt.Fprintf(w, "\x1b[?2026h\x1b]8;;http://%d/%s\x1b\\l\x1b[?1049h%s\x1b[?1049l", i, filler, filler)
		}},
	}
}

// hostileCommands: commands to the terminal (OSC) that it stores or passes on.
func hostileCommands() []Hostile {
	return []Hostile{
		{"titles", func(w io.Writer, i int) { fmt.Fprintf(w, "\x1b]0;%d%s\x07\x1b[22t", i, text) }},
		{"long-titles", func(w io.Writer, i int) { fmt.Fprintf(w, "\x1b]2;%d%s\x07", i, long) }},
		{"icons", func(w io.Writer, i int) {
			fmt.Fprintf(w, "\x1b]1;%d%s\x07\x1b]22;%s\x07\x1b]7;%s\x07", i, text, text, filler)
		}},
		{"notices", func(w io.Writer, i int) {
			fmt.Fprintf(w, "\x1b]777;notify;%d%s;b\x07\x1b]9;%s\x07\x1b]99;i=%d;%s\x1b\\", i, text, text, i, text)
		}},
		{"clipboard", func(w io.Writer, i int) { fmt.Fprintf(w, "\x1b]52;%s%d;%s\x07", long[:100], i, long) }},
		{"marks", func(w io.Writer, i int) {
			fmt.Fprintf(w, "\x1b]133;A\x1b\\\x1b]133;D;%d\x1b\\\x1b]633;E;%s\x1b\\", i, long)
		}},
		{"status", func(w io.Writer, i int) {
			fmt.Fprintf(w, "\x1b]7501;state=working:id=a%d:msg=%s\x1b\\", i, strings.Repeat("YWFh", 600))
		}},
		{"colours", func(w io.Writer, i int) {
			for k := range 256 {
				fmt.Fprintf(w, "\x1b]4;%d;#%06x\x07", k, i)
			}
		}},
	}
}

// hostileStrings: strings and sequences that are long, or never end.
func hostileStrings() []Hostile {
	return []Hostile{
		{"device-strings", func(w io.Writer, i int) {
			for _, k := range []string{"q", "+q", "$q", "2$t", "1;1|", "tmux;\x1b\x1b]0;", "=1s"} {
				fmt.Fprintf(w, "\x1bP%s%d%s\x1b\\", k, i, long)
			}
		}},
		{"images", func(w io.Writer, i int) {
			fmt.Fprintf(w, "\x1b_Ga=T,f=32,i=%d,m=1;%s\x1b\\\x1b]1337;File=inline=1:%s\x07", i, long, long)
		}},
		{"other-strings", func(w io.Writer, i int) {
			fmt.Fprintf(w, "\x1b^%s\x1b\\\x1bX%d%s\x1b\\\x1bk%s\x1b\\", long, i, long, long)
		}},
		{"endless-string", func(w io.Writer, i int) {
			if i == 0 {
				fmt.Fprint(w, "\x1b]52;c;")
			}
			fmt.Fprint(w, long)
		}},
		{"endless-sequence", func(w io.Writer, i int) {
			if i == 0 {
				fmt.Fprint(w, "\x1b[")
			}
			fmt.Fprint(w, strings.Repeat("1;", 4000))
		}},
	}
}

// hostileText: text, its rendition and its replies.
func hostileText() []Hostile {
	return []Hostile{
		{"styles", func(w io.Writer, i int) {
			fmt.Fprintf(w, "\x1b[38;2;%d;%d;%d;48;2;%d;7;9ms", i&255, i>>8&255, i>>16&255, i&255)
		}},
		{"clusters", func(w io.Writer, i int) {
			fmt.Fprintf(w, "e%s", strings.Repeat(string(rune(0x300+i%64))+string(rune(0x300+i/64%64))+string(rune(0x300+i/4096%64)), 20))
		}},
		{"counts", func(w io.Writer, i int) {
			const n = "2147483647"
			fmt.Fprintf(w, "x\x1b[%[1]sb\x1b[%[1]sS\x1b[%[1]sT\x1b[%[1]sL\x1b[%[1]s@\x1b[%[1]sX\x1b[%[1]sI\x1b[%[1]s;%[1]sH\x1b[%[1]s'}\x1b[?%[1]ss\x1b[#{\x1b[?%[2]ds", n, i)
		}},
		{"questions", func(w io.Writer, _ int) { fmt.Fprint(w, strings.Repeat("\x1b[c\x1b[6n\x1bP+q544e\x1b\\\x05", 1000)) }},
	}
}
