package vt

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// dcs carries out a device control string (ECMA-48 8.3.27): parameters,
// intermediates, a final byte, data. Sixel and unknown strings do nothing.
func (t *Terminal) dcs(b []byte) {
	if rest, ok := bytes.CutPrefix(b, tmuxPrefix); ok {
		t.passthrough(rest)
		return
	}
	i := 0
	for i < len(b) && b[i] >= 0x30 && b[i] < 0x40 {
		i++
	}
	head := i
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x30 {
		i++
	}
	if i >= len(b) {
		return
	}
	inter, final, data := string(b[head:i]), b[i], string(b[i+1:])
	switch {
	case inter == "$" && final == 'q':
		t.replySetting(data)
	case inter == "+" && final == 'q':
		t.replyTermcap(data)
	case inter == "$" && final == 't' && head == 1:
		t.restorePresentation(b[0], data)
	}
}

// passthrough is tmux's: its content is for the terminal around tmux, here this
// one.
func (t *Terminal) passthrough(p []byte) {
	e := t.more()
	if e.nested > 0 || len(p) == 0 || p[0] != 0x1b {
		return
	}
	e.nested++
	ps := &t.parser
	host := *ps
	*ps = parser{}
	t.feed(p)
	*ps = host
	if t.extra != nil { // RIS inside drops it
		t.extra.nested = 0
	}
}

// replySetting replies to DECRQSS (DEC STD 070, VT320): 1 with the setting, or
// 0.
func (t *Terminal) replySetting(name string) {
	b := append(t.beginReply(), "\x1bP1$r"...)
	switch name {
	case "m":
		b = t.pen.style.appendSGR(append(b, '0'))
		b = append(b, 'm')
	case "r":
		b = appendInt(b, t.top+1)
		b = append(appendInt(append(b, ';'), t.bot+1), 'r')
	case "s":
		b = appendInt(b, t.left+1)
		b = append(appendInt(append(b, ';'), t.right+1), 's')
	case " q":
		b = append(appendInt(b, t.cursorNumber()), " q"...)
	case "\"q":
		n := 0
		if t.pen.attr&cellProtected != 0 {
			n = 1
		}
		b = append(appendInt(b, n), "\"q"...)
	case "\"p":
		b = append(t.appendConformance(b), "\"p"...)
	case "*x":
		n := 0
		if t.extra != nil {
			n = int(t.extra.sacExtent)
		}
		b = append(appendInt(b, n), "*x"...)
	case "t":
		b = append(appendInt(b, t.rows), 't')
	case "$|":
		b = append(appendInt(b, t.cols), "$|"...)
	case "$}", "$~": // DECSASD, DECSSDT: there is no status line
		b = append(append(b, '0'), name...)
	case "*|":
		b = append(appendInt(b, t.rows), "*|"...)
	default:
		if resource, ok := modKeysNamed(name); ok {
			b = append(t.appendModKeys(append(b, '>'), resource), 'm')
		} else {
			b = append(t.beginReply(), "\x1bP0$r"...)
		}
	}
	t.endReply(append(b, "\x1b\\"...))
}

// modKeysNamed returns the resource of > resource m (XTMODKEYS), of those that exist.
func modKeysNamed(name string) (resource int, ok bool) {
	if len(name) != 3 || name[0] != '>' || name[2] != 'm' || strings.IndexByte("01246", name[1]) < 0 {
		return 0, false
	}
	return int(name[1] - '0'), true
}

// cursorNumber is the current parameter of DECSCUSR.
func (t *Terminal) cursorNumber() int {
	if t.extra == nil || t.extra.cursorKind == 0 {
		return 1
	}
	return int(t.extra.cursorKind)
}

func (t *Terminal) appendConformance(b []byte) []byte {
	level, controls := 60+t.level(), 1
	if t.extra != nil {
		if t.extra.protect8 {
			controls = 0
		}
	}
	return appendInt(append(appendInt(b, level), ';'), controls)
}

// termcap holds the replies to XTGETTCAP (xterm ctlseqs) for the names that
// programs ask for, terminfo's first.
var termcap = [...]struct{ name, value string }{
	{"TN", "xterm-256color"}, {"name", "xterm-256color"},
	{"Co", "256"}, {"colors", "256"}, {"RGB", "8/8/8"},
	{"Tc", ""}, {"Su", ""}, {"setrgbf", "\x1b[38:2:%p1%d:%p2%d:%p3%dm"},
	{"setrgbb", "\x1b[48:2:%p1%d:%p2%d:%p3%dm"}, {"Smulx", "\x1b[4:%p1%dm"},
	{"Setulc", "\x1b[58:2::%p1%{65536}%/%d:%p1%{256}%/%{255}%&%d:%p1%{255}%&%d%;m"},
	{"Ss", "\x1b[%p1%d q"}, {"Se", "\x1b[2 q"}, {"Sync", "\x1b[?2026%?%p1%{1}%-%tl%eh%;"},
	{"Pst", "\x1b]7501;%p1%s\x1b\\"}, {"Ms", "\x1b]52;%p1%s;%p2%s\x1b\\"}, {"smcup", "\x1b[?1049h"}, {"rmcup", "\x1b[?1049l"},
	{"kcuu1", "\x1bOA"}, {"kcud1", "\x1bOB"}, {"kcuf1", "\x1bOC"}, {"kcub1", "\x1bOD"},
	{"ku", "\x1bOA"}, {"kd", "\x1bOB"}, {"kr", "\x1bOC"}, {"kl", "\x1bOD"},
	{"kh", "\x1bOH"}, {"@7", "\x1bOF"}, {"khome", "\x1bOH"}, {"kend", "\x1bOF"},
	{"kD", "\x1b[3~"}, {"kI", "\x1b[2~"}, {"kP", "\x1b[5~"}, {"kN", "\x1b[6~"}, {"kb", "\x7f"},
	{"kdch1", "\x1b[3~"}, {"kich1", "\x1b[2~"}, {"kpp", "\x1b[5~"}, {"knp", "\x1b[6~"}, {"kbs", "\x7f"},
	{"k1", "\x1bOP"}, {"k2", "\x1bOQ"}, {"k3", "\x1bOR"}, {"k4", "\x1bOS"},
	{"k5", "\x1b[15~"}, {"k6", "\x1b[17~"}, {"k7", "\x1b[18~"}, {"k8", "\x1b[19~"}, {"k9", "\x1b[20~"},
	{"k;", "\x1b[21~"}, {"F1", "\x1b[23~"}, {"F2", "\x1b[24~"},
}

// capability returns the value of a name in termcap.
func capability(name string) (value string, ok bool) {
	for i := range termcap {
		if termcap[i].name == name {
			return termcap[i].value, true
		}
	}
	return "", false
}

// replyTermcap replies to each name separately, in hexadecimal as received.
func (t *Terminal) replyTermcap(data string) {
	for _, name := range strings.Split(data, ";") {
		raw, err := hex.DecodeString(name)
		value, ok := capability(string(raw))
		if err != nil || !ok {
			t.reply("\x1bP0+r\x1b\\")
			continue
		}
		b := append(append(t.beginReply(), "\x1bP1+r"...), name...)
		if value != "" {
			b = append(append(b, '='), strings.ToUpper(hex.EncodeToString([]byte(value)))...)
		}
		t.endReply(append(b, "\x1b\\"...))
	}
}

// restorePresentation is DECRSPS of the tab stops (DEC STD 070).
func (t *Terminal) restorePresentation(kind byte, data string) {
	if kind != '2' {
		return
	}
	t.ownTabs()
	*t.tabs = tabStops{}
	n := 0
	for _, c := range []byte(data + "/") {
		switch {
		case c >= '0' && c <= '9' && n < MaxCols:
			n = n*10 + int(c-'0')
		case c == '/':
			if n > 0 && n <= t.cols {
				t.setTab(n-1, true)
			}
			n = 0
		}
	}
}
