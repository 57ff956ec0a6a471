package controller

import (
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// attend answers the start-up dialogs of an agent until it is known to take
// messages for the first time. Agents still ask after they seemed ready.
func (sr *starter) attend(ag *agentState) {
	id, name := ag.seen.Record.ID, ag.seen.Session
	if ag.seen.Record.Served || ag.watch.firstIdle == id || ag.spec == nil {
		return
	}
	ag.watch.firstIdle = id
	cfg := ag.spec.Config
	sr.ops.Go(func() {
		err := sr.awaitFirstIdle(name, cfg)
		sr.post(func() {
			if ag.seen.Record.ID != id {
				return
			}
			if ag.watch.firstIdle = ""; err == nil {
				ag.seen.Record.Served = true
				sr.l.save(ag)
			}
		})
	})
}

// awaitFirstIdle returns nil once the session was idle. A provider that answers
// no dialogs after a start may still know when that is.
func (sr *starter) awaitFirstIdle(name string, cfg runtime.Config) error {
	if p, ok := runtime.As[runtime.StartupProvider](sr.p); ok {
		err := p.AwaitFirstIdle(sr.ops.ctx, name, cfg)
		if !errors.Is(err, runtime.ErrUnsupported) {
			return err
		}
	}
	if p, ok := runtime.As[runtime.IdleWaitProvider](sr.p); ok && cfg.ReadyPromptPrefix != "" {
		return p.WaitForIdle(sr.ops.ctx, name, idleWait)
	}
	return runtime.ErrUnsupported
}

// accepted records what gc accepted on the user's behalf.
func (sr *starter) accepted(session string, a runtime.Accepted) {
	if ag := sr.l.agents.all[session]; ag != nil {
		sr.l.audit.answered(session)
		sr.noteAgent(ag, api.EventAccepted, a.Dialog, fmt.Sprintf("%s: %q, asked: %q", a.Kind, a.Label, a.Question))
	}
}

// finishes reports whether an exit must not be followed by a restart: a
// long-lived program ran its prompt, ended with 0 and never took another
// message. A restart would run the prompt again, forever.
func (ag *agentState) finishes(exit *runtime.Exit) bool {
	return exit.Code == 0 && exit.Signal == "" && !ag.seen.Record.Served && !ag.oneShot() && ag.spec.HasPrompt()
}

// finished records such an exit. It does not count against the restart budget.
func (sp *stops) finished(ag *agentState, exit *runtime.Exit, screen string) {
	r := &ag.seen.Record
	r.LastScreen = screen
	r.Finish(fmt.Sprintf("add the flag that keeps the program open to args, or set lifecycle = \"one_shot\"; gc restart %s runs it again", ag.name()))
	r.RetryAt, r.Tries = time.Time{}, 0
	sp.noteEnd(ag, api.EventExited, exit, screen, r.LastError)
}
