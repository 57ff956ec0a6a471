package nudge

import (
	"context"
	"strings"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
)

// unsent is a nudge that was typed but not submitted. The next one must not be typed
// after it.
type unsent struct {
	print   string // its fingerprint; "": there is none
	lines   int    // upper bound of the composer lines it takes
	touched bool   // a person has typed since, so it is theirs too
	tried   bool   // clearing it was tried and failed
}

const (
	clearLimit = 2 * time.Second // to clear a draft
	clearTries = 4               // an agent puts an interrupted message back some time after it says that it is idle
	clearLines = 500             // at most; agents show a longer paste as one sign
)

// leave records the nudge's outcome and what it left in the composer.
func (n *nudge) leave(rec *api.Receipt) {
	rec.Typed = n.wrote
	if rec.State == api.Drafted {
		n.left = n.print
	}
	n.s.Lock()
	cols, _ := n.s.View().Size()
	switch lines := composerLines(n.text, cols); {
	case n.left != "":
		n.all.left = unsent{print: n.left, lines: lines}
	case n.wrote:
		n.all.last = unsent{print: n.print, lines: lines}
	}
	n.s.Unlock()
	n.stage(journal.ReceiptStage(*rec))
}

// composerLines returns an upper bound of the lines that a text takes in a composer,
// which is narrower than the terminal.
func composerLines(text string, cols int) int {
	lines := 0
	for line := range strings.SplitSeq(text, "\n") {
		lines += 1 + 2*len(line)/max(cols, 1)
	}
	return min(lines, clearLines)
}

// clearLeft clears what an earlier nudge left in the composer, and records that it did.
// The caller holds the input lock.
func (n *nudge) clearLeft(ctx context.Context) {
	s := n.s
	s.Lock()
	left := n.all.left
	n.all.left.tried = true
	s.Unlock()
	keys, err := s.Encode(n.program.Composer.ClearKeys(left.lines)...)
	if err != nil {
		return
	}
	n.clearAll(ctx, keys, left.print)
}

// clearAll is clear, tried a few times. It records that something was cleared.
func (n *nudge) clearAll(ctx context.Context, keys []byte, print string) bool {
	for range clearTries {
		if n.clear(ctx, keys, print) {
			n.changed = strings.TrimSuffix("an earlier unsubmitted message was cleared; "+n.changed, "; ")
			return true
		}
	}
	return false
}

// putBack reports whether the program has put the message of the interrupted turn in front
// of this one, which is typed and not submitted.
func (n *nudge) putBack() bool {
	n.s.Lock()
	defer n.s.Unlock()
	return n.behind.print != "" && n.screen().standing(n.behind.print+squeeze(n.text))
}

// alone clears the composer, which has the message of the interrupted turn and this one, and
// types this one again. The caller holds the input lock.
func (n *nudge) alone(ctx context.Context) (api.Receipt, bool) {
	behind := n.behind
	n.behind = unsent{}
	n.s.Lock()
	cols, _ := n.s.View().Size()
	n.s.Unlock()
	keys, err := n.s.Encode(n.program.Composer.ClearKeys(min(behind.lines+composerLines(n.text, cols), clearLines))...)
	if err == nil && len(keys) > 0 && n.clearAll(ctx, keys, behind.print) {
		return n.write(ctx)
	}
	return api.Receipt{State: api.Drafted, Detail: "typed, not submitted: the message of the interrupted turn is in front of it"}, false
}

// clear types the keys that clear the composer, and reports whether the text of the print
// is gone.
func (n *nudge) clear(ctx context.Context, keys []byte, print string) bool {
	limited, cancel := context.WithTimeout(ctx, clearLimit)
	defer cancel()
	s := n.s
	if _, err := s.Write(limited, keys, clearLimit); err != nil {
		return false
	}
	for {
		s.Lock()
		gone, change := !n.screen().standing(print), s.Change()
		if gone {
			n.all.left = unsent{}
		}
		s.Unlock()
		if gone {
			return true
		}
		if AwaitChange(limited, change, clearLimit) != nil {
			return false
		}
	}
}
