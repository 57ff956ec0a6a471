package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/runtime"
)

func blockedBy(session, screen string, f rule.Found) *runtime.StartupBlocked {
	return &runtime.StartupBlocked{
		Session: session, Dialog: f.Dialog.Name, Question: f.Question, Screen: runtime.LastLines(screen, 0),
	}
}

// stillLooks is how often a screen that keeps changing is read before it counts as
// one without a dialog.
const stillLooks = 10

// maxDialogs is how many dialogs a start may open in a row.
const maxDialogs = 8

// answerer reads dialogs and answers the known ones: it moves the selection one
// step at a time, reads the screen again after each, and presses Enter only while
// the wanted label is selected.
type answerer struct {
	session string
	h       Hooks
	lim     Limits
	table   []rule.Dialog
	prompt  string // the ready prefix: while it is on the screen, no unknown dialog blocks
}

// StartupWaits is how [AwaitFirstIdle] waits for what a backend pushes.
type StartupWaits struct {
	// Idle returns true when the program takes messages, false when a dialog blocks
	// it.
	Idle func(ctx context.Context) (bool, error)
	// Changed returns when the screen differs from the last one that Hooks.Screen
	// returned, or when the program takes messages.
	Changed func(ctx context.Context) error
}

// AwaitFirstIdle implements [runtime.StartupProvider] over the hooks of a start.
func AwaitFirstIdle(ctx context.Context, session string, cfg runtime.Config, h Hooks, w StartupWaits) error {
	s := &sequence{cfg: cfg, h: h}
	for {
		idle, err := w.Idle(ctx)
		if idle || err != nil {
			return err
		}
		var blocked *runtime.StartupBlocked
		if s.dialogsOn() {
			if err := dismiss(ctx, session, h, cfg); err != nil && !errors.As(err, &blocked) {
				return err
			}
		} else if _, err := h.Screen(ctx); err != nil {
			return err
		}
		if err := w.Changed(ctx); err != nil {
			return err
		}
	}
}

// dismiss answers the known start-up dialogs on the screen. It is idempotent:
// without such a dialog it sends nothing. An unknown dialog, or one whose selection
// cannot be read, gets no key and is a *runtime.StartupBlocked.
func dismiss(ctx context.Context, session string, h Hooks, cfg runtime.Config) error {
	a := &answerer{session: session, h: h, lim: h.Limits.withDefaults(), table: dialogTable(cfg), prompt: cfg.ReadyPromptPrefix}
	return a.all(ctx)
}

// dialogTable returns the dialogs that a start knows: those of its config, then the
// built-in ones. With KeepChecks a dialog that turns off the checks is only
// reported.
func dialogTable(cfg runtime.Config) []rule.Dialog {
	table := append(slices.Clone(cfg.Dialogs), rule.Dialogs()...)
	for i := range table {
		if cfg.KeepChecks && table[i].Kind == runtime.BlockedPermission {
			table[i].When = rule.Report
		}
	}
	return table
}

// all answers dialogs until none is open.
func (a *answerer) all(ctx context.Context) error {
	unknown := steady{after: a.lim.Settle}
	last, looks := "", 0
	for n := 0; n < maxDialogs; {
		screen, found, open, err := a.look(ctx)
		if err != nil {
			return err
		}
		if !open || !found.Known && len(found.Options) == 0 { // a line with key hints alone is not a dialog
			if looks++; screen == last || looks > stillLooks {
				return nil
			}
			last = screen // a dialog may be half painted
			if err := a.h.wait(ctx, a.lim.Poll, a.lim.Still); err != nil {
				return err
			}
			continue
		}
		if found.Answerable() {
			if err := a.one(ctx); err != nil {
				return err
			}
			n++
			unknown.reset()
			continue
		}
		if a.prompt != "" && PromptLine(screen, a.prompt, found) {
			return nil
		}
		if unknown.stands(found) {
			blocked := blockedBy(a.session, screen, found)
			if found.Known && found.Dialog.When == rule.Report { // for a person: leave the program as it is
				return warning{blocked}
			}
			return blocked
		}
		if err := a.h.wait(ctx, a.lim.Poll, unknown.left()); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: more than %d dialogs in a row", a.session, maxDialogs)
}

func (a *answerer) look(ctx context.Context) (screen string, f rule.Found, open bool, err error) {
	screen, err = a.h.Screen(ctx)
	if err != nil {
		return "", rule.Found{}, false, err
	}
	f, open = rule.Find(screen, a.table)
	return screen, f, open, nil
}

// one answers the dialog on the screen. It returns nil if the dialog closed, also
// by itself.
func (a *answerer) one(ctx context.Context) error {
	first, open, err := a.stands(ctx)
	if err != nil || !open {
		return err
	}
	for range 2*len(first.Options) + 2 {
		screen, f, open, err := a.look(ctx)
		if err != nil || !open || f.Dialog.Name != first.Dialog.Name {
			return err
		}
		if !f.Answerable() {
			if f, err = a.await(ctx, f, a.lim.Move, true, rule.Found.Answerable); err != nil {
				return err
			}
			if !f.Answerable() {
				return a.stuck(screen, f, "the selection cannot be read")
			}
			continue
		}
		if f.Marked == f.Wanted {
			return a.confirm(ctx, f)
		}
		key := "Down"
		if f.Wanted < f.Marked {
			key = "Up"
		}
		if err := a.h.Keys(ctx, key); err != nil {
			return err
		}
		was := f.Marked
		moved, err := a.await(ctx, f, a.lim.Move, true, func(g rule.Found) bool { return g.Marked >= 0 && g.Marked != was })
		if err != nil {
			return err
		}
		if moved.Dialog.Name == f.Dialog.Name && moved.Known && moved.Marked == was {
			return a.stuck(screen, f, "the selection does not follow the keys")
		}
	}
	screen, f, open, err := a.look(ctx)
	if err != nil || !open {
		return err
	}
	return a.stuck(screen, f, "the selection never reaches "+f.Dialog.Wanted)
}

// stands returns the known dialog on the screen once it has not changed for
// Limits.Quiet: text that is still scrolling is not a dialog.
func (a *answerer) stands(ctx context.Context) (f rule.Found, open bool, err error) {
	same := steady{after: a.lim.Quiet}
	for {
		_, f, open, err = a.look(ctx)
		if err != nil || !open || !f.Known || same.stands(f) {
			return f, open && f.Known, err
		}
		if err := a.h.wait(ctx, a.lim.Poll, same.left()); err != nil {
			return f, false, err
		}
	}
}

// confirm presses Enter if a second reading agrees with the first, and waits until
// the dialog closes. It never presses twice.
func (a *answerer) confirm(ctx context.Context, f rule.Found) error {
	screen, g, open, err := a.look(ctx)
	if err != nil || !open || g.Dialog.Name != f.Dialog.Name {
		return err
	}
	if !g.Answerable() || g.Marked != g.Wanted {
		return a.stuck(screen, g, "the selection moves by itself")
	}
	if err := a.h.Keys(ctx, "Enter"); err != nil {
		return err
	}
	left, err := a.await(ctx, g, a.lim.Gone, false, func(rule.Found) bool { return false })
	if err != nil {
		return err
	}
	if left.Known {
		return a.stuck(screen, left, "it is still open after Enter")
	}
	if a.h.Report != nil {
		a.h.Report(runtime.Step{Session: a.session, Name: runtime.StepAccepted, Accepted: &runtime.Accepted{
			Dialog: g.Dialog.Name, Kind: g.Dialog.Kind, Question: g.Question, Label: g.Options[g.Wanted].Label,
		}})
	}
	return nil
}

// await reads the dialog again at every change until ok, another dialog, or limit.
// It returns what it read last; not Known if the dialog closed. repaints: no key
// that closes the dialog was sent, so if it is missing it is being repainted.
func (a *answerer) await(ctx context.Context, f rule.Found, limit time.Duration, repaints bool, ok func(rule.Found) bool) (rule.Found, error) {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	name := f.Dialog.Name
	for {
		if err := a.h.wait(inner, a.lim.Poll, 0); err != nil {
			if ctx.Err() != nil {
				return f, ctx.Err()
			}
			if inner.Err() == nil {
				return f, err
			}
			return f, nil
		}
		_, g, open, err := a.look(ctx)
		if err != nil {
			return f, err
		}
		same := open && g.Dialog.Name == name
		if !same && !repaints {
			return rule.Found{}, nil
		}
		f = g
		if same && ok(g) {
			return g, nil
		}
		if a.h.Ended != nil {
			if exit, err := a.h.Ended(ctx); err != nil || exit != nil {
				return rule.Found{}, err
			}
		}
	}
}

func (a *answerer) stuck(screen string, f rule.Found, detail string) error {
	b := blockedBy(a.session, screen, f)
	b.Detail = detail
	return b
}

// DialogOpen reports whether a dialog, known or not, is on the live screen. table
// comes before the built-in dialogs.
func DialogOpen(screen string, table ...rule.Dialog) bool {
	_, open := rule.Find(screen, append(slices.Clone(table), rule.Dialogs()...))
	return open
}

// PromptOpen reports whether a line of the screen begins with the ready prefix
// and no dialog is open.
func PromptOpen(screen, prefix string, table ...rule.Dialog) bool {
	found, open := rule.Find(screen, append(slices.Clone(table), rule.Dialogs()...))
	return !open && PromptLine(screen, prefix, found)
}
