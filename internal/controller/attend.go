package controller

import (
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// attend stays with an agent until evidence says that it takes messages for the
// first time; its start-up dialogs are answered meanwhile. Agents ask after they
// seemed ready, too.
func (sr *starter) attend(m *member) {
	id, name := m.seen.Record.ID, m.seen.Session
	if m.seen.Record.Served || m.watch.firstIdle == id || m.spec == nil {
		return
	}
	m.watch.firstIdle = id
	cfg := m.spec.Config
	sr.l.ops.Go(func() {
		err := sr.awaitFirstIdle(name, cfg)
		sr.l.post(func() {
			if m.seen.Record.ID != id {
				return
			}
			if m.watch.firstIdle = ""; err == nil {
				m.seen.Record.Served = true
				sr.l.save(m)
			}
		})
	})
}

// awaitFirstIdle is nil once the session was idle. A provider that answers no
// dialogs after a start may still tell when that is.
func (sr *starter) awaitFirstIdle(name string, cfg runtime.Config) error {
	if p, ok := runtime.As[runtime.StartupProvider](sr.l.p); ok {
		err := p.AwaitFirstIdle(sr.l.ops.ctx, name, cfg)
		if !errors.Is(err, runtime.ErrUnsupported) {
			return err
		}
	}
	if p, ok := runtime.As[runtime.IdleWaitProvider](sr.l.p); ok && cfg.ReadyPromptPrefix != "" {
		return p.WaitForIdle(sr.l.ops.ctx, name, idleWait)
	}
	return runtime.ErrUnsupported
}

// accepted notes what was accepted on the user's behalf.
func (sr *starter) accepted(session string, a runtime.Accepted) {
	if m := sr.l.agents.all[session]; m != nil {
		sr.l.noteAgent(m, api.EventAccepted, a.Dialog, fmt.Sprintf("%s: %q, asked: %q", a.Kind, a.Label, a.Question))
	}
}

// finishes reports an end that must not be repeated: of a long-lived program that
// ran its prompt, ended with 0 and never took another message. Started again it
// would run the prompt again, for ever.
func (m *member) finishes(exit *runtime.Exit) bool {
	return exit.Code == 0 && exit.Signal == "" && !m.seen.Record.Served && !m.oneShot() && m.spec.HasPrompt()
}

// finished accounts for such an end. It takes nothing from the restart budget.
func (sp *stops) finished(m *member, exit *runtime.Exit, screen string) {
	r := &m.seen.Record
	r.LastScreen = screen
	r.Finish(fmt.Sprintf("add the flag that keeps the program open to args, or set lifecycle = \"one_shot\"; gc restart %s runs it again", m.name()))
	r.RetryAt, r.Tries = time.Time{}, 0
	sp.l.noteEnd(m, api.EventExited, exit, screen, r.LastError)
}
