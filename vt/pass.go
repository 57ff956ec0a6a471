package vt

import (
	"bytes"
	"strconv"

	"gascity.dev/gc/vt/internal/picture"
)

// The parts of a program's output that may reach a person's terminal.
// Everything else is removed: the terminal would answer it, keep it after
// detach (AppendReset and Undo undo what they can), or do what a program has no
// business doing there: print, resize windows, transfer files, program keys.
// Sequences unknown to the emulator are removed because the two screens would
// differ.

// passRule is a kind of sequence that may pass, and why.
type passRule struct {
	seq  string           // CSI: prefix, intermediate, final byte; ESC and DCS: intermediates, final byte
	args func([]int) bool // accepts the parameters; nil = any
	why  string
}

// passEscapes are ESC sequences. Those that designate a character set are in
// passesEscape.
var passEscapes = [...]passRule{
	{"7", nil, "saves the cursor, for the program only"},
	{"8", nil, "restores the cursor"},
	{"=", nil, "keypad mode, reset at detach"},
	{">", nil, "keypad mode, reset at detach"},
	{"D", nil, "moves the cursor"},
	{"E", nil, "moves the cursor"},
	{"M", nil, "moves the cursor"},
	{"6", nil, "moves the cursor or a column"},
	{"9", nil, "moves the cursor or a column"},
	{"H", nil, "tab stop, reset at detach"},
	{"N", nil, "character set of one character"},
	{"O", nil, "character set of one character"},
	{"n", nil, "character set, reset at detach"},
	{"o", nil, "character set, reset at detach"},
	{"V", nil, "protects characters, reset at detach"},
	{"W", nil, "protects characters, reset at detach"},
	{"#8", nil, "fills the screen"},
}

// passCSI are control sequences, the most frequent first; modes are in
// passModes.
var passCSI = [...]passRule{
	{"m", nil, "rendition, reset at detach"},
	{"H", nil, "moves the cursor"},
	{"K", nil, "erases"},
	{"G", nil, "moves the cursor"},
	{"A", nil, "moves the cursor"},
	{"B", nil, "moves the cursor"},
	{"C", nil, "moves the cursor"},
	{"D", nil, "moves the cursor"},
	{"J", below(3), "erases; 3 would erase the person's own history"},
	{"X", nil, "erases"},
	{"d", nil, "moves the cursor"},
	{"E", nil, "moves the cursor"},
	{"F", nil, "moves the cursor"},
	{"I", nil, "moves the cursor"},
	{"Z", nil, "moves the cursor"},
	{"`", nil, "moves the cursor"},
	{"a", nil, "moves the cursor"},
	{"e", nil, "moves the cursor"},
	{"f", nil, "moves the cursor"},
	{"@", nil, "moves text"},
	{"L", nil, "moves text"},
	{"M", nil, "moves text"},
	{"P", nil, "moves text"},
	{"S", nil, "moves text"},
	{"T", func(p []int) bool { return len(p) < 2 }, "moves text; with more parameters it tracks the mouse and waits for a reply"},
	{"^", nil, "moves text"},
	{" @", nil, "moves text"},
	{" A", nil, "moves text"},
	{"'}", nil, "moves text"},
	{"'~", nil, "moves text"},
	{"b", nil, "repeats a character"},
	{"g", clearsTabs, "tab stops, reset at detach; terminals differ in the other parameters"},
	{"r", nil, "margins, reset at detach"},
	{"s", nil, "saves the cursor, or margins, reset at detach"},
	{"u", nil, "restores the cursor"},
	{"!p", nil, "soft reset"},
	{" q", nil, "shape of the cursor, reset at detach"},
	{"\"q", nil, "protects characters, reset at detach"},
	{"?J", below(3), "erases"},
	{"?K", nil, "erases"},
	{"$r", nil, "rendition of a rectangle"},
	{"$t", nil, "rendition of a rectangle"},
	{"$v", nil, "copies a rectangle"},
	{"$x", nil, "fills a rectangle"},
	{"$z", nil, "erases a rectangle"},
	{"${", nil, "erases a rectangle"},
	{"*x", nil, "extent of rectangles, reset at detach"},
	{"#{", nil, "saves the rendition"},
	{"#}", nil, "restores the rendition"},
	{"#p", nil, "saves the rendition"},
	{"#q", nil, "restores the rendition"},
	{">m", first(4), "modifyOtherKeys, reset at detach; nothing resets the other keys"},
	{">n", first(4), "modifyOtherKeys, reset at detach"},
	{">u", nil, "kitty keyboard, reset at detach"},
	{"<u", nil, "kitty keyboard, reset at detach"},
	{"=u", nil, "kitty keyboard, reset at detach"},
}

// passModes are the modes that may be set, reset, saved and restored:
// AppendReset resets each. dec distinguishes DEC private modes from those of
// ECMA-48.
var passModes = [...]struct {
	n   int
	dec bool
	why string
}{
	{25, true, "shows the cursor"}, {12, true, "the cursor blinks"},
	{2026, true, "synchronized update"}, {7, true, "wraps lines"},
	{47, true, "alternate screen"}, {1047, true, "alternate screen"}, {1048, true, "saves the cursor"}, {1049, true, "alternate screen"},
	{2004, true, "bracketed paste"}, {1, true, "cursor keys"}, {66, true, "keypad"}, {67, true, "backarrow key"},
	{9, true, "mouse"}, {1000, true, "mouse"}, {1002, true, "mouse"}, {1003, true, "mouse"}, {1005, true, "mouse"},
	{1006, true, "mouse"}, {1015, true, "mouse"}, {1016, true, "mouse"}, {1007, true, "mouse wheel as keys"},
	{1004, true, "focus reports, which only a person's terminal can send"},
	{5, true, "reverse video"}, {6, true, "origin"}, {69, true, "left and right margins"},
	{42, true, "national character sets"}, {45, true, "reverse wrap"}, {1045, true, "reverse wrap"},
	{4, false, "insert"}, {20, false, "new line"},
}

// passOSC are operating system commands by number.
var passOSC = [...]struct {
	n    int
	text func(rest []byte) bool // accepts the text that follows; nil = any
	why  string
}{
	{0, nil, "title"}, {1, nil, "title"}, {2, nil, "title"},
	{4, sets, "colours, undone at detach"}, {5, sets, "colours, undone at detach"},
	{10, sets, "colours, undone at detach"}, {11, sets, "colours, undone at detach"}, {12, sets, "colours, undone at detach"},
	{13, sets, "colours, undone at detach"}, {14, sets, "colours, undone at detach"},
	{17, sets, "colours, undone at detach"}, {19, sets, "colours, undone at detach"},
	{104, nil, "resets colours"}, {105, nil, "resets colours"},
	{110, nil, "resets colours"}, {111, nil, "resets colours"}, {112, nil, "resets colours"}, {113, nil, "resets colours"},
	{114, nil, "resets colours"}, {117, nil, "resets colours"}, {119, nil, "resets colours"},
	{7, nil, "directory of a new tab; every prompt sets it again"},
	{8, nil, "links, reset at detach"},
	{9, notice9, "progress and notifications; ConEmu's other numbers run programs"},
	{22, sets, "shape of the pointer, undone at detach"},
	{52, sets, "copies to the person's clipboard"},
	{99, notice99, "notifications"},
	{133, nil, "prompt marks"}, {633, nil, "prompt marks"},
	{777, func(b []byte) bool { return bytes.HasPrefix(b, []byte("notify;")) }, "notifications"},
	{1337, iterm, "images, to a terminal that shows them, and location; the others transfer files, change profiles or are queries"},
	{7501, sets, "status of a program"},
}

// passDCS are device control strings.
var passDCS = [...]passRule{
	{"q", nil, "sixel images, to a terminal that shows them"},
	{"$t", only(2), "tab stops, reset at detach"},
}

// passesAPC reports whether an application program command may pass: kitty
// images, except queries and those in files or memory: a terminal would read what the
// program may not, or another machine's, and delete it.
func passesAPC(body []byte) bool {
	head, _, _ := bytes.Cut(body, []byte(";"))
	return bytes.HasPrefix(head, []byte("G")) && !bytes.Contains(head, []byte("a=q")) && picture.KittyDirect(body)
}

// imagesOf returns the protocol of images to which a control string belongs; 0 for none.
func imagesOf(kind byte, body []byte) Images {
	switch kind {
	case '_':
		return ImagesKitty
	case 'P':
		if _, ok := picture.SixelData(body); ok {
			return ImagesSixel
		}
	case ']':
		rest, _ := bytes.CutPrefix(body, []byte("1337;"))
		name, _, _ := bytes.Cut(rest, []byte("="))
		switch string(name) {
		case "File", "MultipartFile", "FilePart", "FileEnd":
			return ImagesITerm
		}
	}
	return 0
}

// clearsTabs accepts TBC 0 and 3.
func clearsTabs(p []int) bool { return len(p) == 0 || p[0] == 0 || p[0] == 3 }

func below(n int) func([]int) bool {
	return func(p []int) bool { return len(p) == 0 || p[0] < n }
}

func first(n int) func([]int) bool {
	return func(p []int) bool { return len(p) > 0 && p[0] == n }
}

func only(n ...int) func([]int) bool {
	return func(p []int) bool {
		for _, m := range n {
			if len(p) > 0 && p[0] == m {
				return true
			}
		}
		return false
	}
}

// sets reports whether a command contains no query.
func sets(rest []byte) bool {
	for part := range bytes.SplitSeq(rest, []byte(";")) {
		if bytes.HasPrefix(bytes.TrimSpace(part), []byte("?")) {
			return false
		}
	}
	return true
}

// notice9 reports whether OSC 9 is a text or progress. ConEmu's other commands
// begin with a number.
func notice9(rest []byte) bool {
	head, _, _ := bytes.Cut(rest, []byte(";"))
	n, err := strconv.Atoi(string(head))
	return err != nil || n == 4
}

// notice99 reports whether OSC 99 is not a query.
func notice99(rest []byte) bool {
	meta, _, _ := bytes.Cut(rest, []byte(";"))
	for part := range bytes.SplitSeq(meta, []byte(":")) {
		if v, ok := bytes.CutPrefix(part, []byte("p=")); ok && (string(v) == "?" || string(v) == "alive") {
			return false
		}
	}
	return true
}

// iterm reports whether an iTerm2 command shows an image or reports the
// program's location. A file that is not shown is a download.
func iterm(rest []byte) bool {
	name, args, _ := bytes.Cut(rest, []byte("="))
	switch string(name) {
	case "CurrentDir", "RemoteHost", "SetMark", "FilePart", "FileEnd":
		return true
	case "File", "MultipartFile":
		args, _, _ = bytes.Cut(args, []byte(":"))
		for part := range bytes.SplitSeq(args, []byte(";")) {
			if string(part) == "inline=1" {
				return true
			}
		}
	}
	return false
}
