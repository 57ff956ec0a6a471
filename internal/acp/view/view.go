// Package view is a conversation as a person sees it on a terminal: complete items
// are in the terminal's scrollback, and below it a live region shows the running
// ones, the open question, a composer and a status line. Typed bytes become actions.
//
// A line of the conversation is written as one line, however long: the terminal wraps
// it, and wraps it anew when a person attaches with another size.
//
// It is pure: frames in, bytes out; typed bytes in, actions out. It owns no I/O, no
// clock and no goroutine, and is not safe for concurrent use.
//
// Its invariant: whatever the frames say, the bytes hold only the control sequences
// of this package, the live region never exceeds the screen, and text in the
// scrollback is never written to again.
package view

import (
	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/mux/keys"
)

// Frame is everything that can be seen at one moment.
type Frame struct {
	Items    []conversation.Item
	First    int // how many items were dropped before Items[0]
	Question *conversation.Question
	Mode     string
	Model    string
	Usage    conversation.Usage
	Queue    int                   // messages that wait for the end of the turn
	State    string                // starting, idle, working, blocked
	Commands []conversation.Choice // what "/" and Tab complete: ID, or Name without one
	Line     string                // a notice at the beginning of the status line
}

// idle reports whether no turn runs: then nothing more is expected of an item.
func (f *Frame) idle() bool { return f.State == "idle" }

// View paints frames and reads keys.
type View struct {
	cols, rows int
	screen     screen
	log        log
	draft      composer
	menu       menu
	hints      []line // commands that a Tab found

	question *conversation.Question // as painted last
	commands []conversation.Choice

	keys keys.Scanner
	part []byte // an incomplete character
	past []byte // the paste under way
	huge bool   // it is too long, and is left out
	last byte   // the last byte typed outside sequences
}

// New returns a view for a terminal of that size whose cursor is at the beginning of
// a line.
func New(cols, rows int) *View {
	v := &View{log: newLog()}
	v.Resize(cols, rows)
	return v
}

// Resize sets the terminal's size. The next Paint paints the live region whole;
// the terminal itself wraps its scrollback. Call it with the terminal's size before
// every Paint: a paint for another size may leave traces.
func (v *View) Resize(cols, rows int) {
	cols, rows = max(cols, 2), max(rows, 1)
	if cols != v.cols || rows != v.rows {
		v.cols, v.rows, v.screen.cols, v.screen.height = cols, rows, cols, rows
		v.screen.anew = true
	}
}

// Paint returns the bytes that show a frame; nil if nothing has changed. What is typed
// shows at the next Paint.
func (v *View) Paint(f Frame) []byte {
	v.question, v.commands = f.Question, f.Commands
	v.menu.follow(f.Question)
	lines := v.log.take(&f)
	return v.screen.paint(lines, v.compose(&f))
}

// Close returns the bytes that write everything left of the last frame into the
// scrollback and remove the live region.
func (v *View) Close(f Frame) []byte {
	f.State, f.Question = "idle", nil
	items := f.Items
	f.Items = append(items[:len(items):len(items)], conversation.Item{Kind: conversation.Thought})
	lines := v.log.take(&f)
	v.screen.anew = true
	out := v.screen.paint(lines, region{rows: []line{{}}})
	return append(out, plainPaste...)
}

// Limits of the live region's parts.
const (
	maxDraftRows   = 8
	maxAskedDraft  = 4 // while a question is open: a menu must be near the end of the screen
	maxHints       = 6
	maxLive        = 12 // rows of items: a terminal that shrinks pushes the rest into its scrollback
	roomyRows      = 8  // from here on an empty row is above the composer
	minDraftShares = 3  // the draft takes at most a third of the screen
)

// compose lays out the live region: live items, an empty row, the plan, the question,
// hints, the composer and the status line, in this order.
func (v *View) compose(f *Frame) region {
	limit := min(max(v.rows/minDraftShares, 1), maxDraftRows)
	sign := promptSign
	if q := f.Question; q != nil {
		limit = min(limit, maxAskedDraft)
		if len(q.Options) > 0 {
			sign = "» " // internal/rule mistakes a menu above "› " for an old one
		}
	}
	draft, row, col := v.draft.rows(sign, v.cols, limit)
	bottom := draft
	if v.rows > len(draft) {
		bottom = append(bottom, v.status(f))
	}
	room := v.rows - len(bottom)
	question := v.asked(f.Question, room)
	room -= len(question)
	hints := v.hints[:min(len(v.hints), maxHints, room)]
	room -= len(hints)
	var plan, gap []line
	if plan = v.livePlan(f); room < len(plan) {
		plan = nil
	}
	if room -= len(plan); v.rows >= roomyRows && room > 0 {
		gap, room = []line{{}}, room-1
	}
	live := v.live(f, min(room, maxLive))
	if len(live) == 0 && !v.log.any {
		gap = nil
	}
	var r region
	for _, part := range [][]line{live, gap, plan, question, v.fitted(hints)} {
		r.rows = append(r.rows, part...)
	}
	r.row, r.col = len(r.rows)+row, col
	r.rows = append(r.rows, bottom...)
	return r
}
