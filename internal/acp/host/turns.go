package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/outcome"
)

// Times of turns.
const (
	readTime   = 500 * time.Millisecond // an empty pipe this long means that the agent has read
	unreadTime = 5 * time.Second        // after which a message that is not read counts as unverified
	lookTime   = 50 * time.Millisecond  // between two looks at the pipe, while a receipt is open
	cancelTime = 10 * time.Second       // for an agent to end a turn that was cancelled
)

// turns sends messages to the agent, one at a time: no agent treats a second open
// prompt as another does. It owns the mailbox.
type turns struct {
	h    *host
	box  *mailbox
	open *turn // nil: no prompt is open

	last  *control.Turn
	ended int
	auth  string // why the last prompt failed, if the agent requires authentication
}

// turn is a prompt and everything until its answer.
type turn struct {
	msg         *message
	began       time.Time
	call        int64
	cancelled   time.Time // zero: it was not
	cancelledBy string    // control.Person, or ""
	deaf        bool      // it did not end in time after that
	emptied     time.Time // since when the pipe is empty; zero: it is not
	look        *time.Timer
	usage       protocol.Usage // that the agent has told while it worked: Qwen
}

// deliver takes a message. answer gets its receipt, StateQueued if the sender does
// not wait for the end of a turn.
func (t *turns) deliver(n control.Nudge, answer chan<- control.Receipt) {
	if known := t.box.find(n.ID); known != nil {
		t.join(known, n, answer)
		return
	}
	m := &message{ID: n.ID, By: n.By, Blocks: n.Blocks, Progress: waits, Queued: time.Now(), Accepted: n.Queue}
	if why := t.refuses(m); why != "" {
		answer <- control.Receipt{State: control.StateRefused, Detail: why}
		return
	}
	busy := t.busy()
	if n.Now && !n.Interrupt && busy != "" {
		t.steer(m, busy, answer)
		return
	}
	if t.box.add(m); n.Interrupt {
		t.box.first(m)
		if m.Interrupted = outcome.InterruptEnded; busy != "turn" && busy != "question" {
			m.Interrupted = outcome.InterruptNone
		}
	}
	if err := t.box.save(busy != ""); err != nil {
		t.box.remove(m)
		answer <- control.Receipt{State: control.StateRefused, Detail: "cannot be written down: " + err.Error()}
		return
	}
	t.join(m, n, answer)
	if m.Interrupted == outcome.InterruptEnded {
		t.interrupt("")
	}
	t.next()
	t.h.changed()
}

// join lets answer get the receipt of a message that is known.
func (t *turns) join(m *message, n control.Nudge, answer chan<- control.Receipt) {
	switch {
	case m.Receipt != nil:
		answer <- *m.Receipt
	case n.Queue && m.Progress == waits && t.busy() != "":
		if !m.Accepted {
			m.Accepted = true
			t.save()
		}
		answer <- control.Receipt{State: control.StateQueued}
	default:
		m.wait = append(m.wait, answer)
	}
}

// refuses says why a message cannot be taken, "" if it can.
func (t *turns) refuses(m *message) string {
	switch size := m.bytes(); {
	case m.ID == "":
		return "the message has no id"
	case size == 0 || !slices.ContainsFunc(m.Blocks, func(b control.Block) bool { return strings.TrimSpace(b.Text) != "" || b.Path != "" }):
		return "the message is empty"
	case size > maxMessage:
		return fmt.Sprintf("the message has %d bytes, the limit is %d", size, maxMessage)
	case t.h.life.phase != control.PhaseReady && t.h.life.phase != control.PhaseStarting:
		return "the agent is not ready"
	}
	return t.box.full(m)
}

// busy says why a message cannot be sent now: By of a receipt, "" if it can.
func (t *turns) busy() string {
	switch {
	case len(t.h.asks.open) > 0:
		return "question"
	case t.open != nil:
		return "turn"
	case t.h.life.phase != control.PhaseReady:
		return "start"
	}
	return ""
}

// steer delivers a message into the running turn, if the agent can take it.
func (t *turns) steer(m *message, busy string, answer chan<- control.Receipt) {
	if busy != "turn" || !t.h.peer.agent.Steering {
		answer <- control.Receipt{State: control.StateBlocked, By: busy, Detail: t.describe(busy)}
		return
	}
	m.Progress = sent
	m.wait = append(m.wait, answer)
	t.box.add(m)
	t.save()
	t.h.conv.AddPrompt(m.ID, textOf(m.Blocks), m.By)
	t.h.peer.call("_session/steering", protocol.PromptRequest{SessionID: t.h.peer.session, Prompt: t.content(m)}, func(a wire.Message) {
		var r protocol.SteeringResult
		err := decode("steering", a, &r)
		switch {
		case err != nil:
			m.settle(control.Receipt{State: control.StateRefused, Detail: err.Error()})
		case r.Outcome != protocol.Injected:
			m.settle(control.Receipt{State: control.StateRefused, Detail: "the agent answered: " + clean(r.Outcome)})
		default:
			m.settle(control.Receipt{State: control.StateSubmitted, Detail: "into the running turn"})
		}
		t.finish(m)
		t.save()
	})
}

// describe says what a message waits for.
func (t *turns) describe(busy string) string {
	switch busy {
	case "question":
		return "a question is open"
	case "turn":
		return "the agent is working"
	}
	return "the agent is starting"
}

// next sends the oldest message that waits, if nothing keeps it.
func (t *turns) next() {
	if t.busy() != "" {
		return
	}
	m := t.box.next()
	if m == nil {
		return
	}
	m.Progress = sent
	t.save()
	t.auth = ""
	t.h.conv.AddPrompt(m.ID, textOf(m.Blocks), m.By)
	t.open = &turn{msg: m, began: time.Now()}
	t.open.call = t.h.peer.call("session/prompt", protocol.PromptRequest{SessionID: t.h.peer.session, Prompt: t.content(m)}, t.answered)
	if t.open != nil && m.Receipt == nil {
		t.watch(t.open)
	}
	t.h.changed()
}

// content is what a message is in the protocol.
func (t *turns) content(m *message) []protocol.Block {
	var out []protocol.Block
	for _, b := range m.Blocks {
		if b.Path != "" {
			out = append(out, protocol.FileBlock(b.Path, t.h.peer.agent.Image))
		} else {
			out = append(out, protocol.TextBlock(b.Text))
		}
	}
	return out
}

// textOf is a message as text.
func textOf(blocks []control.Block) string {
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if b.Path != "" {
			parts = append(parts, "[File: "+b.Path+"]")
		} else {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// heard notes that the agent said something: it has the message of the open turn.
func (t *turns) heard() {
	if t.open != nil && t.open.msg.Receipt == nil {
		t.settle(t.open, control.Receipt{State: control.StateSubmitted})
	}
}

// settle records the receipt of the open turn's message.
func (t *turns) settle(x *turn, r control.Receipt) {
	if x.look != nil {
		x.look.Stop()
	}
	x.msg.settle(r)
	t.save()
}

// watch looks at the pipe to the agent until the message has a receipt: no event
// tells that it was read.
func (t *turns) watch(x *turn) {
	x.look = t.h.loop.after(lookTime, func() {
		if t.open != x || x.msg.Receipt != nil {
			return
		}
		now := time.Now()
		unread, err := t.h.peer.conn.Unread()
		if err != nil || unread > 0 || !t.h.peer.conn.Written(x.call) {
			x.emptied = time.Time{}
		} else if x.emptied.IsZero() {
			x.emptied = now
		}
		switch {
		case !x.emptied.IsZero() && now.Sub(x.emptied) >= readTime:
			t.settle(x, control.Receipt{State: control.StateSubmitted, Detail: "read by the agent"})
		case now.Sub(x.began) >= unreadTime && x.emptied.IsZero():
			t.settle(x, control.Receipt{State: control.StateUnverified, Detail: "the agent has not read it"})
		default:
			t.watch(x)
		}
	})
}

// answered ends the open turn: the agent has answered its prompt.
func (t *turns) answered(a wire.Message) {
	x := t.open
	if x == nil {
		return
	}
	end := &control.Turn{ID: x.msg.ID, Duration: clock.Millis(time.Since(x.began)), Ended: time.Now(), Cancelled: x.cancelledBy}
	var r protocol.PromptResult
	if err := decode("prompt", a, &r); err != nil {
		end.Error = err.Error()
		if a.Err != nil && a.Err.Code == codeAuth {
			end.Error = t.h.peer.loginText(err)
			t.auth = end.Error
		}
		if x.msg.Receipt == nil {
			x.msg.Receipt = &control.Receipt{State: control.StateRefused, Detail: end.Error, Interrupted: x.msg.Interrupted}
			defer func() { // the state comes first: the sender looks why
				t.h.flush()
				x.msg.report()
			}()
		}
	} else {
		if r.Usage == (protocol.Usage{}) {
			r.Usage = x.usage
		}
		end.StopReason, end.Input, end.Output = clean(r.StopReason), r.Usage.Input, r.Usage.Output
		t.heard()
	}
	t.finish(x.msg)
	t.close(end)
	if limit := t.h.launch.EndAfter; limit > 0 && t.ended >= limit && t.box.next() == nil {
		t.h.life.finish(end)
		return
	}
	t.next()
}

// spent adds what a request to the model took to the open turn.
func (t *turns) spent(u protocol.Usage) {
	if t.open != nil {
		t.open.usage.Input += u.Input
		t.open.usage.Output += u.Output
	}
}

// close ends the open turn, and what belongs to it.
func (t *turns) close(end *control.Turn) {
	t.open, t.last = nil, end
	t.ended++
	t.h.asks.cancelAll("the turn has ended")
	t.save()
	t.h.conv.EndTurn()
	if end.Error != "" {
		t.h.conv.AddNotice(end.Error)
	}
	t.h.record.items(t.h.conv) // what the turn said stands before its end
	t.h.record.turn(end)
	t.h.changed()
}

// finish keeps only the outcome of a message.
func (t *turns) finish(m *message) {
	if m.Receipt == nil {
		m.settle(control.Receipt{State: control.StateSubmitted})
	}
	m.Progress, m.Blocks = finished, nil
}

// save keeps the mailbox on disk. Where that fails, the host goes on: the message is
// delivered, only a later host may not know.
func (t *turns) save() {
	if err := t.box.save(false); err != nil {
		t.h.warn("cannot keep the queue: " + err.Error())
	}
}

// takeBack removes a message that waits.
func (t *turns) takeBack(id string) *control.Error {
	m := t.box.find(id)
	if m == nil || m.Progress != waits {
		return &control.Error{Code: control.CodeNotFound, Message: "the message was sent already, or is unknown"}
	}
	t.box.remove(m)
	m.settle(control.Receipt{State: control.StateRefused, Detail: "taken back"})
	if err := t.box.save(true); err != nil {
		return &control.Error{Code: control.CodeAgent, Message: err.Error()}
	}
	t.h.changed()
	return nil
}

// interrupt cancels the open turn; by is empty for a client. A second one while the agent
// does not react is SIGINT to its process group.
func (t *turns) interrupt(by string) {
	x := t.open
	if x == nil {
		t.h.asks.cancelAll("interrupted") // one of an agent that works in the background
		return
	}
	if x.deaf {
		t.h.proc.signal(sigint)
		return
	}
	first := x.cancelled.IsZero()
	x.cancelled = time.Now()
	if first {
		x.cancelledBy = by
	}
	t.h.peer.notify("session/cancel", protocol.CancelNotification{SessionID: t.h.peer.session})
	t.h.asks.cancelAll("interrupted")
	if first {
		t.h.loop.after(cancelTime, func() {
			if t.open == x {
				x.deaf = true
				t.h.changed()
			}
		})
	}
	t.h.changed()
}

// cancelled reports whether the open turn was cancelled.
func (t *turns) cancelled() bool { return t.open != nil && !t.open.cancelled.IsZero() }

// recover reports the turn that died with an earlier host. It is not sent again.
func (t *turns) recover() {
	for _, m := range t.box.list {
		if m.Progress != sent {
			continue
		}
		text := textOf(m.Blocks)
		if len(text) > 60 {
			text = strings.ToValidUTF8(text[:60], "") + "…"
		}
		t.h.conv.AddNotice(fmt.Sprintf("the agent ended while it worked on %q; the message is not sent again", clean(text)))
		if m.Receipt == nil {
			m.settle(control.Receipt{State: control.StateDead, Detail: "the agent ended first"})
		}
		m.Progress, m.Blocks = finished, nil
	}
	t.save()
}

// die gives every message that somebody waits for its outcome when the agent has
// ended. The one whose turn ran stays as it is: the next host reports it.
func (t *turns) die() {
	for _, m := range t.box.list {
		if len(m.wait) == 0 {
			continue // a receipt was given, or the next host delivers it
		}
		m.settle(control.Receipt{State: control.StateDead, Detail: "the agent ended first"})
		if m.Progress == waits { // so it must not be delivered
			m.Progress, m.Blocks = finished, nil
		}
	}
	t.save()
}
