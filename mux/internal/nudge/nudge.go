package nudge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
)

// Times of the nudge transaction.
const (
	readLimit   = 10 * time.Second       // the program does not read what the terminal took; it may get no processor time
	writeLimit  = 20 * time.Second       // all bytes of a long message
	quietTime   = 150 * time.Millisecond // of quiet
	quietLimit  = time.Second            // for a program that shows nothing or is never quiet
	burstGap    = 150 * time.Millisecond // between the text and Enter; agents take Enter within 120 ms for a newline
	verifyTime  = 1500 * time.Millisecond
	starvedTime = 4 * time.Second // of quiet, for an agent that has not shown the text yet
	readTick    = 5 * time.Millisecond
)

// DefaultWait is how long a nudge waits for a dialog or a draft to go away.
const DefaultWait = 30 * time.Second

// Patience is how long the terminal may take no byte.
const Patience = 2 * time.Second

// MaxText limits the bytes of a message.
const MaxText = 1 << 20

// nudge is one transaction: one message typed and submitted.
type nudge struct {
	s       Session
	program Program
	all     *Nudges
	text    string
	print   string // fingerprint of the text
	began   time.Time
	wait    time.Duration // for what is in the way, or for a starved agent, since then
	mode    Mode
	before  view         // when the text was written
	typed   view         // when it was consumed
	seen    *view        // last; nil before the first look
	left    string       // part of the text that remains in the composer
	behind  unsent       // the message of an interrupted turn: it may still be put back
	changed string       // how the text was changed so that it arrives as text
	wrote   bool         // the terminal took bytes of it
	key     uint64       // of its id, 0 without one
	stage   func(uint64) // records the stage before it begins
}

// view is what a session shows at one moment.
type view struct {
	revision uint64
	output   uint64
	screen   string // squeezed
	standing bool   // the end of the text is on the cursor's line
	composer bool   // the agent's composer is visible; false if the terminal's cursor marks it
	draft    string // the text in it, squeezed
	occupied bool   // the agent works or asks
}

// screen returns what the session shows. The session's lock is held.
func (n *nudge) screen() Screen { return Screen{n.s.View(), n.program} }

// run carries out one nudge. key stands for its id; stage, which may be nil, is called
// with each stage before it begins. The error is ErrTooLarge or that of ctx, and nothing
// was delivered; every other outcome is the receipt.
func (ns *Nudges) run(ctx context.Context, r api.NudgeRequest, key uint64, stage func(uint64)) (api.Receipt, error) {
	s := ns.s
	if len(r.Text) > MaxText {
		return api.Receipt{}, fmt.Errorf("%w: a nudge of %d bytes, at most %d", api.ErrTooLarge, len(r.Text), MaxText)
	}
	n := &nudge{s: s, program: s.Program(), all: ns, text: keys.CleanText(r.Text), began: time.Now(), wait: r.Timeout, key: key, stage: stage}
	if !r.Raw {
		n.text, n.changed = n.program.Composer.Plain(n.text)
	}
	if stage == nil {
		n.stage = func(uint64) {}
	}
	if n.wait <= 0 {
		n.wait = DefaultWait
	}
	n.print = fingerprint(n.text)
	if ns.ended() {
		return api.Receipt{State: api.Dead, Detail: api.ErrExited.Error()}, nil
	}
	if err := ns.queue.Lock(ctx); err != nil { // in the order of arrival
		return api.Receipt{}, err
	}
	defer ns.queue.Unlock()
	rec, interrupted, free := api.Receipt{}, "", true
	if r.Interrupt {
		rec, interrupted, free = ns.redirect(ctx, r)
		n.wait = redirectWait
	}
	if free {
		rec = n.run(ctx)
	}
	rec.Interrupted = interrupted
	if rec.State != api.Blocked {
		rec.Changed = n.changed
	}
	n.leave(&rec)
	s.Nudged(r, rec)
	return rec, nil
}

// run is the transaction. Cancelling ctx stops only the wait for a dialog; bytes already
// begun are finished.
func (n *nudge) run(ctx context.Context) api.Receipt {
	rec, ok := n.open(ctx)
	if !ok {
		return rec
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	n.s.CancelWith(cancel)
	rec, ok = n.write(work)
	n.s.Release()
	if !ok {
		return rec
	}
	return n.verify(work)
}

// open waits until nothing is in the way and returns with the input lock.
func (n *nudge) open(ctx context.Context) (api.Receipt, bool) {
	limit := time.After(n.wait)
	for {
		if err := n.s.Acquire(ctx); err != nil {
			return failedNudge(err), false
		}
		by, detail, until, change := n.obstacle()
		if by == "left" {
			n.clearLeft(ctx)
			by, detail, until, change = n.obstacle()
		}
		if by == "" {
			return api.Receipt{}, true
		}
		n.s.Release()
		var expires <-chan time.Time
		if !until.IsZero() {
			expires = time.After(time.Until(until))
		}
		select {
		case <-change:
			continue
		case <-expires:
			continue
		case <-limit:
		case <-ctx.Done():
		}
		return api.Receipt{State: api.Blocked, By: by, Detail: detail}, false
	}
}

// obstacle returns what is in the way: a dialog, a draft or "left", a draft of this
// server that it may clear. It also returns what to wait for: a change, or until, if it
// may go without one.
func (n *nudge) obstacle() (by, detail string, until time.Time, change <-chan struct{}) {
	s := n.s
	s.Lock()
	defer s.Unlock()
	if _, ended := s.Ending(); ended {
		return "", "", time.Time{}, nil // the writer finds out
	}
	screen := n.screen()
	if found, ok := screen.dialog(); ok {
		return "dialog", dialogName(found), time.Time{}, s.Change()
	}
	if a, ok, again := s.Activity(); ok && a.State == status.Blocked && a.Kind != status.Question {
		if again > 0 {
			until = time.Now().Add(again)
		}
		return "dialog", blockedBy(a), until, s.Change() // Enter might approve it
	}
	until, typing := s.Typing()
	if left := &n.all.left; left.print != "" {
		switch {
		case !screen.standing(left.print):
			n.behind, *left = *left, unsent{}
		case typing || left.touched || left.tried || len(n.program.Composer.Clear) == 0:
			return "draft", "an earlier message is there, not submitted", time.Time{}, s.Change()
		default:
			return "left", "", time.Time{}, nil
		}
	}
	if typing {
		return "draft", "a person is typing", until, s.Change()
	}
	return "", "", time.Time{}, nil
}

// blockedBy describes what a program says it is waiting for.
func blockedBy(a api.Activity) string {
	if a.Pending != nil && a.Pending.Prompt != "" {
		return a.Pending.Prompt
	}
	return cmp.Or(a.Evidence, "the program waits for an answer: "+a.Kind)
}

func dialogName(f rule.Found) string {
	if f.Known {
		return f.Dialog.Name + ": " + f.Question
	}
	return f.Question
}

// write types the text and Enter. The caller holds the input lock. It reports whether
// Enter was sent.
func (n *nudge) write(ctx context.Context) (api.Receipt, bool) {
	n.readMode()
	if n.mode.Cooked && !n.mode.Bracket {
		for line := range strings.SplitSeq(n.text, "\n") {
			if len(line) > sys.MaxCanonical {
				return api.Receipt{State: api.Refused, Detail: fmt.Sprintf(
					"a line of %d bytes; the program reads cooked lines of at most %d", len(line), sys.MaxCanonical)}, false
			}
		}
	}
	n.before = n.look()
	p := keys.AppendPaste(nil, []byte(n.text), n.mode.Bracket)
	if err := n.ahead(); err != nil {
		return api.Receipt{State: api.Refused, Detail: err.Error()}, false
	}
	n.stage(journal.StageTyping)
	return n.finishWrite(ctx, p, 0)
}

// ahead writes the text into the journal before it is typed.
func (n *nudge) ahead() error {
	n.s.Lock()
	defer n.s.Unlock()
	j := n.s.Journal()
	if j == nil {
		return api.ErrExited
	}
	return j.Ahead(journal.Ahead{Key: n.key, Text: []byte(n.text), Bracket: n.mode.Bracket})
}

// finishWrite types p from the byte at from, then Enter.
func (n *nudge) finishWrite(ctx context.Context, p []byte, from int) (api.Receipt, bool) {
	limited, cancel := context.WithTimeoutCause(ctx, writeLimit, ErrStuck)
	defer cancel()
	n.track(true)
	done, err := n.s.Write(limited, p[from:], Patience)
	n.track(false)
	done += from
	n.wrote = n.wrote || done > 0
	if err != nil {
		n.closePaste(done, len(p))
		return n.failedWrite(err, done, len(p)), false
	}
	if err := n.awaitQuiet(ctx); err != nil {
		return n.failedWrite(err, done, len(p)), false
	}
	if n.putBack() {
		return n.alone(ctx)
	}
	n.stage(journal.StageEntered)
	n.wrote = true
	if _, err := n.s.Write(ctx, n.enter(), Patience); err != nil {
		return n.failedWrite(err, done, len(p)), false
	}
	return api.Receipt{}, true
}

// track makes the journal record how much of the text the terminal takes.
func (n *nudge) track(on bool) {
	n.s.Track(on && n.key != 0)
}

// closePaste ends a paste that was cut short, so that the program does not take later
// input for more of it.
func (n *nudge) closePaste(done, all int) {
	if n.mode.Bracket && done > 0 && done < all {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		_, _ = n.s.Write(ctx, []byte(keys.PasteEnd), quietTime)
	}
}

func (n *nudge) failedWrite(err error, done, all int) api.Receipt {
	switch {
	case errors.Is(err, api.ErrExited):
		return api.Receipt{State: api.Dead, Detail: api.ErrExited.Error()}
	case done > 0 && done == all:
		return api.Receipt{State: api.Drafted, Detail: "typed, not submitted: " + err.Error()}
	case done > 0:
		if n.mode.Bracket {
			done, all = max(done-len(keys.PasteStart), 0), all-len(keys.PasteStart)-len(keys.PasteEnd)
		}
		n.left = fingerprint(n.text[:min(done, len(n.text))])
		return api.Receipt{State: api.Refused, Detail: fmt.Sprintf("%v: it took %d of %d bytes", err, done, all)}
	}
	return api.Receipt{State: api.Refused, Detail: err.Error()}
}

func failedNudge(err error) api.Receipt {
	if errors.Is(err, api.ErrExited) {
		return api.Receipt{State: api.Dead, Detail: err.Error()}
	}
	return api.Receipt{State: api.Refused, Detail: err.Error()}
}

// readMode notes how the program reads.
func (n *nudge) readMode() {
	n.s.Lock()
	defer n.s.Unlock()
	n.mode = n.s.Mode()
}

// enter returns the bytes that submit.
func (n *nudge) enter() []byte {
	if n.mode.Cooked && !n.mode.CRNL {
		return []byte{'\n'}
	}
	p, err := n.s.Encode("Enter")
	if err != nil {
		return []byte{'\r'}
	}
	return p
}

// awaitQuiet waits until the program has read the text, has shown something since, and
// burstGap has passed. A program that gets little processor time is given its time from
// when it shows what it read. One that shows nothing, or never stops, gets quietLimit. A
// terminal that edits lines itself needs no pause.
func (n *nudge) awaitQuiet(ctx context.Context) error {
	end := time.Now()
	read := end // when input was last seen unread
	var seen time.Time
	for {
		now := time.Now()
		view, last, change, gone := n.observe()
		if gone {
			return api.ErrExited
		}
		n.typed = view
		if n.mode.Cooked && !n.mode.Bracket {
			return nil
		}
		if unread, known := n.unread(); known && unread > 0 && !n.mode.Cooked {
			read = now
		}
		if seen.IsZero() && n.print != "" && strings.Contains(view.screen, n.print) && !strings.Contains(n.before.screen, n.print) {
			seen = now
		}
		shown := view.output != n.before.output && now.Sub(latest(read, last)) >= burstGap
		echoed := !seen.IsZero() && now.Sub(latest(read, seen)) >= burstGap
		if now.Sub(read) >= burstGap && (shown || echoed || now.Sub(read) > quietLimit) {
			return nil
		}
		if now.Sub(end) > readLimit {
			return ErrStuck
		}
		if err := AwaitChange(ctx, change, readTick); err != nil {
			return err
		}
	}
}

func latest(first time.Time, more ...time.Time) time.Time {
	for _, t := range more {
		if t.After(first) {
			first = t
		}
	}
	return first
}

// unread returns how many bytes the program has not read; known is false where the system
// does not tell.
func (n *nudge) unread() (bytes int, known bool) {
	n.s.Lock()
	defer n.s.Unlock()
	return n.s.Unread()
}

// AwaitChange waits for a change, d or the end of ctx.
func AwaitChange(ctx context.Context, change <-chan struct{}, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-change:
		// a program that writes all the time must not keep us busy
		return clock.Sleep(ctx, time.Millisecond)
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
