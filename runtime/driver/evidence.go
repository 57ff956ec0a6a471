package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/runtime"
)

// ScreenRules are how an agent's screen is read.
type ScreenRules struct {
	Ready   string        `json:"ready,omitempty"`
	Dialogs []rule.Dialog `json:"dialogs,omitempty"` // come before the built-in ones
	Status  []rule.Status `json:"status,omitempty"`
}

// screenMeta is the metadata key that holds a session's rules, as JSON.
const screenMeta = "gc.screen"

// KeepScreenRules stores the config's rules for the agent's screen in the session's
// metadata, for [ScreenRulesOf] in any process.
func KeepScreenRules(ctx context.Context, p runtime.Provider, name string, cfg runtime.Config) error {
	if len(cfg.Dialogs)+len(cfg.StatusRules) == 0 {
		return nil
	}
	b, err := json.Marshal(ScreenRules{Dialogs: cfg.Dialogs, Status: cfg.StatusRules})
	if err != nil {
		return err
	}
	return p.SetMeta(ctx, name, screenMeta, string(b))
}

// ScreenRulesOf returns the rules stored with the session, with its ready prefix.
func ScreenRulesOf(ctx context.Context, p runtime.Provider, name, ready string) (ScreenRules, error) {
	r := ScreenRules{}
	kept, err := p.GetMeta(ctx, name, screenMeta)
	if err == nil && kept != "" {
		if err = json.Unmarshal([]byte(kept), &r); err != nil {
			err = fmt.Errorf("metadata %s of %s: %w", screenMeta, name, err)
		}
	}
	r.Ready = ready
	return r, err
}

const (
	screenQuiet = 1500 * time.Millisecond // pause in the output that idle requires
	screenMoves = 2 * time.Second         // how long a change counts as work
)

// read finds the evidence on a screen that last changed at the given time.
func (r ScreenRules) read(text string, changed, now time.Time) runtime.Activity {
	view, table := rule.TextView(text), append(slices.Clone(r.Dialogs), rule.Dialogs()...)
	view.Ready = r.Ready
	found, open := view.Find(table)
	question := asked(view, found, open)
	sources := []runtime.ActivitySource{dialogSource(question, changed)}
	status, pending := r.status(view, found, changed, now)
	sources = append(sources, status, r.ready(text, found, open, changed, now),
		runtime.ActivitySource{Source: "osc7501", Evidence: "this backend shows only the text of the screen"})
	a := runtime.Activity{State: runtime.ActivityUnknown, Evidence: "no evidence of its state", Sources: sources}
	for _, x := range sources {
		if x.State != "" {
			a.State, a.Kind, a.Source, a.Evidence, a.Since = x.State, x.Kind, x.Source, x.Evidence, x.Since
			break
		}
	}
	switch {
	case a.State != runtime.ActivityBlocked:
	case question != nil:
		a.Pending = question
	default:
		a.Pending = pending
	}
	return a
}

// asked returns the question of the dialog on the screen, nil without one.
func asked(view rule.DialogView, found rule.Found, open bool) *runtime.Interaction {
	if !open || len(found.Options) == 0 {
		return nil
	}
	q := view.Question(found)
	i := &runtime.Interaction{RequestID: q.ID, Kind: q.Kind, Prompt: q.Prompt, Options: q.Options, Metadata: map[string]string{}}
	for key, value := range map[string]string{"context": q.Context, "dialog": q.Dialog} {
		if value != "" {
			i.Metadata[key] = value
		}
	}
	if q.Marked >= 0 {
		i.Metadata["marked"] = q.Options[q.Marked]
	}
	return i
}

func dialogSource(q *runtime.Interaction, changed time.Time) runtime.ActivitySource {
	x := runtime.ActivitySource{Source: "dialog", Evidence: "no question on the screen"}
	if q == nil {
		return x
	}
	x.State, x.Kind, x.Since, x.Evidence = runtime.ActivityBlocked, q.Kind, changed, fmt.Sprintf("%q", q.Prompt)
	if name := q.Metadata["dialog"]; name != "" {
		x.Evidence = name + ": " + x.Evidence
	}
	return x
}

// status returns the status rule that matches, and the question of a blocked one.
// Rules about text that is repainted all the time require a recent change, and idle
// requires a pause.
func (r ScreenRules) status(view rule.DialogView, found rule.Found, changed, now time.Time) (runtime.ActivitySource, *runtime.Interaction) {
	x := runtime.ActivitySource{Source: "screen", Evidence: "this agent has no status rules"}
	if len(r.Status) == 0 {
		return x, nil
	}
	moves := !changed.IsZero() && now.Sub(changed) < screenMoves
	rules := slices.DeleteFunc(slices.Clone(r.Status), func(s rule.Status) bool { return s.Moves && !moves })
	at := slices.IndexFunc(view.Lines, func(line string) bool { return r.Ready != "" && rule.IsPrompt(line, r.Ready) })
	hit, why := rule.FindStatus(rule.View{Screen: strings.Join(view.Lines, "\n"), Composer: view.Composer(at)}, rules)
	if x.Evidence = why; hit == nil {
		return x, nil
	}
	x.Evidence = fmt.Sprintf("rule %s: %q", hit.Name, why)
	if hit.State == runtime.ActivityIdle && !quiet(changed, now) {
		x.Evidence += ", but there was output a moment ago, or its time is unknown"
		return x, nil
	}
	x.State, x.Kind, x.Since = hit.State, hit.Kind, changed
	if hit.State != runtime.ActivityBlocked {
		return x, nil
	}
	return x, &runtime.Interaction{RequestID: fmt.Sprintf("%s %s", hit.Name, why), Kind: hit.Kind, Prompt: why}
}

// ready reports idle if the agent's prompt is open and the output has paused.
func (r ScreenRules) ready(text string, found rule.Found, open bool, changed, now time.Time) runtime.ActivitySource {
	x := runtime.ActivitySource{Source: "ready"}
	switch {
	case r.Ready == "":
		x.Evidence = "the session has no ready prefix"
	case open || !PromptLine(text, r.Ready, found):
		x.Evidence = fmt.Sprintf("no open prompt %q", r.Ready)
	case !quiet(changed, now):
		x.Evidence = "the prompt is shown, but there was output a moment ago, or its time is unknown"
	default:
		x.State, x.Since, x.Evidence = runtime.ActivityIdle, changed, fmt.Sprintf("the prompt is shown: %q", r.Ready)
	}
	return x
}

func quiet(changed, now time.Time) bool {
	return !changed.IsZero() && now.Sub(changed) >= screenQuiet
}
