package vt

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
)

// osc carries out an operating system command: a number, a semicolon, text
// (xterm ctlseqs). Unknown numbers do nothing.
func (t *Terminal) osc(b []byte) {
	head, rest, _ := bytes.Cut(b, []byte(";"))
	number, err := strconv.Atoi(string(head))
	if err != nil || number < 0 {
		return
	}
	if len(rest) > maxText && number != 52 && number != 1337 {
		t.lost.Strings++
		return
	}
	text := string(rest)
	switch number {
	case 0, 2:
		if number == 0 && t.extra != nil {
			t.extra.icon = ""
		}
		t.setTitle(text)
	case 1:
		t.setIcon(text)
	case 4, 5:
		t.oscPalette(number, text)
	case 104, 105:
		t.oscPaletteReset(number, text)
	case 7:
		t.setWorkDir(text)
	case 8:
		t.oscLink(text)
	case 9:
		t.oscNotify9(text)
	case 22:
		t.more().pointer = plainText(text)
		t.lasts(lastingPointer)
		t.event(Event{Kind: EventPointer, Text: plainText(text)})
	case 52:
		t.oscClipboard(text)
	case 99:
		t.oscNotify99(text)
	case 133, 633:
		t.oscPrompt(text)
	case 777:
		t.oscNotify777(text)
	case 1337:
		if dir, ok := strings.CutPrefix(text, "CurrentDir="); ok {
			t.setWorkDir(dir)
		}
	case 2027:
		t.oscExact(text)
	case 7501:
		t.oscStatus(text)
	case oscMarker:
		if len(text) <= maxMarker {
			t.event(Event{Kind: EventMarker, Text: plainText(text)})
		}
	default:
		switch {
		case number >= 10 && number <= 19:
			t.oscDynamic(number-10, text)
		case number >= 110 && number <= 119 && t.extra != nil:
			t.extra.dynamic[number-110] = 0
			t.lasts(0)
		}
	}
}

// setIcon sets the name of the icon, which only an attached terminal shows.
func (t *Terminal) setIcon(text string) {
	t.more().icon = titleText(text)
	t.event(Event{Kind: EventIcon, Text: t.extra.icon})
}

func (t *Terminal) setWorkDir(s string) {
	s = plainText(s)
	if len(s) > 4096 {
		return
	}
	t.more().workDir = s
	t.changed, t.outside = true, true
	t.event(Event{Kind: EventWorkDir, Text: s})
}

// oscLink is OSC 8 ; parameters ; URI: sets the link of text printed from now
// on.
func (t *Terminal) oscLink(text string) {
	params, uri, ok := strings.Cut(text, ";")
	if !ok {
		return
	}
	t.pen.attr &^= cellLink
	uri = plainText(uri)
	if uri == "" || len(uri) > maxLinkBytes {
		return
	}
	l := link{uri: uri}
	for _, p := range strings.Split(params, ":") {
		if id, ok := strings.CutPrefix(p, "id="); ok && len(id) <= 250 {
			l.id = plainText(id)
		}
	}
	t.pen.attr |= cell(t.linkID(l)) << cellLinkShift
}

// oscNotify9 is OSC 9: a notification (iTerm2), or with 4 a progress report
// (ConEmu).
func (t *Terminal) oscNotify9(text string) {
	rest, ok := strings.CutPrefix(text, "4;")
	if !ok {
		t.event(Event{Kind: EventNotify, Text: plainText(text)})
		return
	}
	state, percent, _ := strings.Cut(rest, ";")
	n, err := strconv.Atoi(state)
	if err != nil || n < 0 || n > 4 {
		return
	}
	p, err := strconv.Atoi(strings.TrimSuffix(percent, ";"))
	if err != nil {
		p = 0
	}
	pr := progress{n, min(max(p, 0), 100)}
	if n == 0 {
		pr = progress{}
	}
	if t.extra != nil || n != 0 {
		t.more().progress = pr
	}
	t.lasts(lastingProgress)
	t.event(Event{Kind: EventProgress, State: n, Percent: min(max(p, 0), 100)})
}

// oscNotify777 is OSC 777 ; notify ; title ; body (urxvt).
func (t *Terminal) oscNotify777(text string) {
	rest, ok := strings.CutPrefix(text, "notify;")
	if !ok {
		return
	}
	title, body, _ := strings.Cut(rest, ";")
	t.event(Event{Kind: EventNotify, Name: plainText(title), Text: plainText(body)})
}

// oscClipboard is OSC 52 ; selection ; base64. Queries are not answered: the
// clipboard may hold another program's secrets.
func (t *Terminal) oscClipboard(text string) {
	selection, data, ok := strings.Cut(text, ";")
	if !ok || data == "?" {
		return
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		if b, err = base64.RawStdEncoding.DecodeString(data); err != nil {
			return
		}
	}
	t.event(Event{Kind: EventClipboard, Name: plainText(selection), Data: b})
}

// oscPrompt handles shell prompt marks (FinalTerm, VS Code): A before the
// prompt, B before the input, C before the output, D with the exit status.
func (t *Terminal) oscPrompt(text string) {
	mark, rest, _ := strings.Cut(text, ";")
	e := Event{Kind: EventPrompt, Name: mark, Exit: -1}
	sem := cell(semOutput)
	switch mark {
	case "A":
		sem = semPrompt
		t.touch(t.y).flags |= rowPrompt
	case "B":
		sem = semInput
	case "C":
	case "D":
		status, _, _ := strings.Cut(rest, ";")
		if n, err := strconv.Atoi(status); err == nil {
			e.Exit = n
		}
	case "P":
		if dir, ok := strings.CutPrefix(rest, "Cwd="); ok {
			t.setWorkDir(dir)
			return
		}
		t.pen.attr = t.pen.attr&^cellSem | semPrompt<<cellSemShift // continuation of a prompt
		return
	default:
		return
	}
	t.pen.attr = t.pen.attr&^cellSem | sem<<cellSemShift
	t.event(e)
}

// oscMarker is the number of our private marker. Other terminals ignore it; a
// session running inside another finds it in its output.
const oscMarker = 75010

// maxMarker bounds a marker, in bytes.
const maxMarker = 64

// Marker returns the sequence that writes a marker of letters and digits to a
// terminal.
func Marker(text string) string { return "\x1b]" + strconv.Itoa(oscMarker) + ";" + text + "\x1b\\" }

// maxStatus bounds a Program Status Protocol report, in bytes.
const maxStatus = 4096

// oscStatus is OSC 7501: a program reports its activity as key=value pairs
// separated by colons; "?" queries support.
func (t *Terminal) oscStatus(text string) {
	if len(text) > maxStatus {
		return
	}
	if strings.TrimSpace(text) == "?" {
		t.reply("\x1b]7501;?" + t.terminator())
		return
	}
	t.event(Event{Kind: EventStatus, Text: plainText(text)})
}
