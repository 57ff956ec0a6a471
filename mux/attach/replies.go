package attach

import (
	"bytes"
	"strings"

	"gascity.dev/gc/mux/keys"
)

// replyFilter takes a terminal's replies out of what a person types. The server
// answers every query of a program itself and removes queries from what it sends to
// clients. A reply that still arrives answers an older query, such as one by the
// shell, and would reach the program as keys.
//
// Dropped: DA, DSR and cursor position reports, DECRPM, window reports, kitty's
// answer about its flags and to our query, every OSC and DCS string. Kept, because a program
// asked the person's terminal for them: answers about kitty graphics (APC G) and
// XTSMGRAPHICS (CSI ? … S), mouse, focus. Inside a bracketed paste everything is
// kept.
//
// CSI 1 ; n R has two meanings: F3 with modifiers in xterm, and a cursor position in
// the first row. It is a key if n is a modifier parameter (2 to 16), as nothing here
// asks for a position; every other CSI … R with parameters is a report. (For this
// reason kitty sends CSI 13 ~ for F3.)
//
// An unfinished sequence is held as in [keys.DetachMatcher], and flushed by the same
// rule. A reply that never ends is dropped.
type replyFilter struct {
	note func(reply []byte) // gets every dropped reply; may be nil
	scan keys.Scanner
	out  []byte
}

// feed returns p without replies, in a slice that is valid until the next call.
func (f *replyFilter) feed(p []byte) []byte {
	f.out = f.out[:0]
	f.scan.Feed(p, f.take)
	return f.out
}

// flush returns held keys when no byte came for a moment.
func (f *replyFilter) flush() []byte {
	f.out = f.out[:0]
	f.scan.Flush(f.take)
	return f.out
}

func (f *replyFilter) take(tok keys.Token) {
	switch {
	case !isReply(tok):
		f.out = append(f.out, tok.Data...)
	case f.note != nil:
		f.note(tok.Data)
	}
}

// isReply reports whether a token answers a query that the server answers.
func isReply(tok keys.Token) bool {
	switch tok.Kind {
	case keys.TokenString:
		return !bytes.HasPrefix(tok.Data, []byte("\x1b_")) || bytes.HasPrefix(tok.Data, []byte(pictureReply+";"))
	case keys.TokenBroken:
		return len(tok.Data) > 2 && (tok.Data[1] == ']' || tok.Data[1] == 'P')
	case keys.TokenCSI:
		last := len(tok.Data) - 1
		return isReplyCSI(string(tok.Data[2:last]), tok.Data[last])
	}
	return false
}

// isReplyCSI is isReply for CSI params final.
func isReplyCSI(params string, final byte) bool {
	private := strings.HasPrefix(params, "?")
	switch final {
	case 'c': // DA1, DA2; without a marker it is Shift-Right of rxvt
		return private || strings.HasPrefix(params, ">") || strings.HasPrefix(params, "=")
	case 'n': // DSR
		return params != ""
	case 'R': // CPR, DECXCPR
		return private || params != "" && !isModifiedF3(params)
	case 'y': // DECRPM
		return strings.HasSuffix(params, "$") || private
	case 't', 'x': // XTWINOPS, DECREPTPARM
		return params != ""
	case 'u': // kitty's flags
		return private
	case 'm': // XTQMODKEYS
		return strings.HasPrefix(params, ">")
	}
	return false
}

// isModifiedF3 reports whether CSI params R can be F3 with modifiers.
func isModifiedF3(params string) bool {
	f := keys.SplitCSI(params)
	return len(f) == 2 && f.Num(0, 0) == 1 && f.Num(1, 0) >= 2 && f.Num(1, 0) <= 16
}
