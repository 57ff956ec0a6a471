package server

import (
	"context"
	"strings"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
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
	clearLines = 500             // at most; agents show a longer paste as one sign
)

// leave records the nudge's outcome and what it left in the composer.
func (n *nudge) leave(rec *api.Receipt) {
	rec.Typed = n.wrote
	if rec.State == api.Drafted {
		n.left = n.print
	}
	if n.left != "" {
		n.s.mu.Lock()
		n.s.nudges.left = unsent{print: n.left, lines: composerLines(n.text, n.s.screen.cols)}
		n.s.mu.Unlock()
	}
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
	s.mu.Lock()
	left := s.nudges.left
	s.nudges.left.tried = true
	s.mu.Unlock()
	keys, err := keys.Encode(nil, s.rec.Composer.ClearKeys(left.lines), s.screen.keyModes())
	if err != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, clearLimit)
	defer cancel()
	if _, err := s.input.write(limited, keys, clearLimit); err != nil {
		return
	}
	for {
		s.mu.Lock()
		gone, change := !s.screen.standing(left.print), s.change()
		if gone {
			s.nudges.left = unsent{}
		}
		s.mu.Unlock()
		if gone {
			n.changed = strings.TrimSuffix("an earlier unsubmitted message was cleared; "+n.changed, "; ")
			return
		}
		if waitChange(limited, change, clearLimit) != nil {
			return
		}
	}
}
