package nudge

import (
	"context"
	"strings"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
)

// look returns what the session shows.
func (n *nudge) look() view {
	v, _, _, _ := n.observe()
	return v
}

// observe returns what the session shows, when output last came, a channel that closes at
// the next change, and whether the session ended.
func (n *nudge) observe() (v view, last time.Time, change <-chan struct{}, gone bool) {
	s := n.s
	s.Lock()
	defer s.Unlock()
	screen := n.screen()
	if revision := screen.Term.Revision(); n.seen == nil || n.seen.revision != revision {
		n.seen = &view{revision: revision, screen: squeeze(screen.Term.ScreenText()), standing: screen.standing(n.print)}
		draft, visible := screen.drawnDraft()
		n.seen.draft, n.seen.composer = squeeze(draft), visible
	}
	n.seen.occupied = false
	if n.typed.composer {
		a, _, _ := s.Activity()
		n.seen.occupied = a.State == status.Working || a.State == status.Blocked || a.State == rule.StateStuck
	}
	v = *n.seen
	v.output, last = s.Output()
	gone, _ = s.Ending()
	return v, last, s.Change(), gone
}

// verify finds out whether Enter submitted the text.
func (n *nudge) verify(ctx context.Context) api.Receipt {
	rec, again := n.watch(ctx)
	if !again {
		return rec
	}
	if !n.secondEnter(ctx) {
		return rec
	}
	rec, _ = n.watch(ctx)
	return rec
}

// watch observes the screen until the outcome is clear. again means that the text is
// still on the cursor's line.
func (n *nudge) watch(ctx context.Context) (rec api.Receipt, again bool) {
	start := time.Now()
	for {
		v, last, change, gone := n.observe()
		unread, known := n.unread()
		if n.submitted(v, unread) {
			return api.Receipt{State: api.Submitted}, false
		}
		if gone {
			return n.died(v), false
		}
		if n.late(start, last) {
			return n.unsure(v, unread, known)
		}
		if AwaitChange(ctx, change, quietTime/4) != nil {
			return api.Receipt{State: api.Drafted, Detail: "interrupted before it could be verified"}, false
		}
	}
}

// submitted reports whether the screen shows it: the text, or the place where it was
// typed, was visible and is no longer on the cursor's line.
func (n *nudge) submitted(v view, unread int) bool {
	if v.output == n.typed.output || v.standing || n.mode.Cooked && unread > 0 {
		return false
	}
	if n.away(v) {
		return false
	}
	if n.starved() && n.count(v) > n.count(n.before) {
		return true // it appeared late, in the conversation
	}
	echoed := n.typed.standing || n.print != "" && strings.Contains(n.typed.screen, n.print) && !strings.Contains(n.before.screen, n.print)
	shown := n.hidden() && n.typed.screen != n.before.screen
	if n.mode.Cooked && !n.mode.Bracket {
		// The terminal echoes at once: the text may first be seen together with the
		// effect of Enter.
		echoed = echoed || n.print != "" && strings.Count(v.screen, n.print) > strings.Count(n.before.screen, n.print)
		return echoed
	}
	return (echoed || shown) && v.screen != n.typed.screen
}

// late reports whether no more is to be expected of a screen that is observed since start
// and changed last at last. A starved agent has time as long as it shows anything.
func (n *nudge) late(start, last time.Time) bool {
	passed, quiet := time.Since(start), time.Since(latest(start, last))
	if n.starved() {
		return quiet > starvedTime || passed > max(2*starvedTime, n.wait-start.Sub(n.began))
	}
	return passed > verifyTime && quiet > quietTime || passed > 2*verifyTime
}

// starved reports whether an agent has not shown a short text yet, as on a machine that
// is very busy. It is known where its composer is, so that the text can be told from a draft.
func (n *nudge) starved() bool {
	return n.program.located() && n.print != "" && !n.hidden() && !n.mode.Cooked &&
		!n.typed.standing && n.count(n.typed) <= n.count(n.before)
}

// count is how often the end of the text is on the screen.
func (n *nudge) count(v view) int { return strings.Count(v.screen, n.print) }

// away reports whether the composer that held the text is not visible although the agent
// neither works nor asks. It may come back with the text. A composer with another text
// than before the message may be a line of the conversation.
func (n *nudge) away(v view) bool {
	same := v.composer && (v.draft == "" || v.draft == n.before.draft)
	return n.typed.composer && !v.occupied && !same
}

// hidden reports whether an agent may show something else in place of the text: a
// placeholder for a long paste, or a text broken by its frame.
func (n *nudge) hidden() bool {
	const shownWhole = 40 // bytes
	return len(n.text) > shownWhole || strings.Contains(n.text, "\n")
}

// died returns the receipt for a program that ended: submitted if its screen shows it,
// else unknown.
func (n *nudge) died(v view) api.Receipt {
	if v.output != n.typed.output && n.typed.standing && !v.standing {
		return api.Receipt{State: api.Submitted, Detail: "the program ended afterwards"}
	}
	return api.Receipt{State: api.Dead, Detail: "the program ended before the text was seen to be submitted"}
}

// unsure returns the receipt when time is up.
func (n *nudge) unsure(v view, unread int, known bool) (api.Receipt, bool) {
	switch {
	case n.mode.Cooked && known && unread > 0:
		return api.Receipt{State: api.Unverified, Detail: "typed and entered; the program has not read it"}, false
	case v.standing:
		return api.Receipt{State: api.Drafted, Detail: "the text is still on the cursor's line"}, true
	case n.away(v):
		return api.Receipt{State: api.Unverified, Detail: "typed and entered; the program's prompt is not visible"}, false
	case n.typed.screen == n.before.screen || !n.hidden():
		return api.Receipt{State: api.Unverified, Detail: "typed and entered; the text was never visible"}, false
	}
	return api.Receipt{State: api.Unverified, Detail: "typed and entered; the screen did not change"}, false
}

// secondEnter presses Enter again if that can only answer the text: it is still there,
// and no dialog is open.
func (n *nudge) secondEnter(ctx context.Context) bool {
	if err := n.s.Acquire(ctx); err != nil {
		return false
	}
	defer n.s.Release()
	v := n.look()
	n.s.Lock()
	_, dialog := n.screen().dialog()
	n.s.Unlock()
	if !v.standing || dialog {
		return false
	}
	n.typed = v
	_, err := n.s.Write(ctx, n.enter(), Patience)
	return err == nil
}
