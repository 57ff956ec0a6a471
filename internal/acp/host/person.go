package host

import (
	"crypto/rand"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/view"
)

// escTime is how long the bytes of one key may take.
const escTime = 50 * time.Millisecond

// typed handles keys of an attached person.
func (h *host) typed(keys []byte) {
	h.act(h.screen.view.Input(keys))
	if h.screen.view.Pending() {
		h.loop.after(escTime, func() {
			if h.screen.view.Pending() {
				h.act(h.screen.view.Flush())
				h.screen.now()
			}
		})
	}
	h.screen.now()
}

// act carries out a person's actions.
func (h *host) act(list []view.Action) {
	for _, a := range list {
		switch a := a.(type) {
		case view.Prompt:
			h.say(a.Text)
		case view.Answer:
			if e := h.asks.respond(control.Answer{RequestID: a.RequestID, Option: a.Label, Text: a.Text, By: control.Person}); e != nil {
				h.warn(e.Message)
			}
		case view.Cancel:
			h.turns.interrupt(control.Person)
		}
	}
}

// say delivers a message that was typed.
func (h *host) say(text string) {
	answer := make(chan control.Receipt, 1)
	h.turns.deliver(control.Nudge{ID: rand.Text(), Queue: true, Blocks: []control.Block{{Text: text}}}, answer)
	select {
	case r := <-answer:
		if r.State == control.StateRefused {
			h.warn("the message is refused: " + r.Detail)
		}
	default: // it was sent
	}
}

// frame is what a person sees.
func (h *host) frame() view.Frame {
	f := view.Frame{
		Items: h.conv.Items(), First: h.conv.Dropped(),
		Mode: h.conv.Mode(), Model: h.conv.Model(), Usage: h.conv.Usage(), Commands: h.conv.Commands(),
		Queue: len(h.published.state.Queue), State: h.published.state.Activity,
	}
	if len(h.asks.open) > 0 {
		f.Question = &h.asks.open[0].Question
	}
	if t := h.turns.open; t != nil && t.deaf {
		f.Line = "the agent does not react to cancel; once more sends SIGINT"
	}
	return f
}
