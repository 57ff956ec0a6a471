package host

import (
	"context"
	"errors"
	"fmt"

	"gascity.dev/gc/internal/acp/control"
)

// handle carries out a request of the control socket. It runs on a goroutine of its
// own.
func (h *host) handle(ctx context.Context, r control.Request) control.Reply {
	switch {
	case (r.Op == control.OpNudge || r.Op == control.OpRedirect) && r.Nudge != nil:
		r.Nudge.Interrupt = r.Op == control.OpRedirect
		receipt, err := ask(ctx, h.loop, func(answer chan<- control.Receipt) { h.turns.deliver(*r.Nudge, answer) })
		if errors.Is(err, errEnded) {
			receipt, err = control.Receipt{State: control.StateDead, Detail: "the agent ended first"}, nil
		}
		if err != nil {
			return failed(err)
		}
		return control.Reply{Receipt: &receipt}
	case r.Op == control.OpTakeBack:
		return h.do(ctx, func() *control.Error { return h.turns.takeBack(r.MessageID) })
	case r.Op == control.OpRespond && r.Answer != nil:
		return h.do(ctx, func() *control.Error { return h.asks.respond(*r.Answer) })
	case r.Op == control.OpInterrupt:
		return h.do(ctx, func() *control.Error { h.turns.interrupt(""); return nil })
	case r.Op == control.OpSet:
		return h.wait(ctx, func(answer chan<- *control.Error) {
			h.settings.choose(r.Mode, r.Model, func(e *control.Error) { answer <- e })
		})
	case r.Op == control.OpClose:
		return h.wait(ctx, h.life.close)
	}
	return control.Reply{Error: &control.Error{Code: control.CodeBadRequest, Message: fmt.Sprintf("unknown operation %q, or a field is missing", clean(r.Op))}}
}

// do runs f on the loop.
func (h *host) do(ctx context.Context, f func() *control.Error) control.Reply {
	return h.wait(ctx, func(answer chan<- *control.Error) { answer <- f() })
}

// wait runs f on the loop, which answers at once or later.
func (h *host) wait(ctx context.Context, f func(chan<- *control.Error)) control.Reply {
	e, err := ask(ctx, h.loop, f)
	if err != nil {
		return failed(err)
	}
	return control.Reply{Error: e}
}

func failed(err error) control.Reply {
	return control.Reply{Error: &control.Error{Code: control.CodeAgent, Message: err.Error()}}
}
