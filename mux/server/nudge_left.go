package server

import (
	"context"
	"strings"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
)

// unsent is a nudge that was typed and not submitted: the next one must not be
// typed behind it.
type unsent struct {
	print   string // its fingerprint; "": there is none
	lines   int    // of the composer that it may take
	touched bool   // a person has typed since: it is theirs, too
	tried   bool   // to clear it, in vain
}

const (
	clearLimit = 2 * time.Second // for a draft to go away
	clearLines = 500             // of a draft, at most; a paste this long is one sign to an agent
)

// leave marks how the nudge ended, and notes what it left in the composer.
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
	n.mark(journal.ReceiptStage(*rec))
}

// composerLines is how many lines a text takes in a composer, rather too many: it
// is narrower than the terminal.
func composerLines(text string, cols int) int {
	lines := 0
	for line := range strings.SplitSeq(text, "\n") {
		lines += 1 + 2*len(line)/max(cols, 1)
	}
	return min(lines, clearLines)
}

// clearLeft empties the composer of what an earlier nudge left there, and notes
// that it did. The caller has the input lock.
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
			n.changed = strings.TrimSuffix("an earlier message that stood there, not submitted, was cleared; "+n.changed, "; ")
			return
		}
		if waitChange(limited, change, clearLimit) != nil {
			return
		}
	}
}
