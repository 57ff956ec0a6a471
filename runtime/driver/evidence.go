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

// ScreenRules are what is known of an agent's screen.
type ScreenRules struct {
	Ready   string        `json:"ready,omitempty"`
	Dialogs []rule.Dialog `json:"dialogs,omitempty"` // before the built-in ones
	Status  []rule.Status `json:"status,omitempty"`
}

// screenMeta keeps the rules of a session's start with it, as JSON.
const screenMeta = "gc.screen"

// KeepScreenRules leaves what config says of the agent's screen with the session,
// for [ScreenRulesOf] of any process.
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

// ScreenRulesOf are the rules that were kept with the session, and its ready
// prefix.
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

// Times of evidence on a screen.
const (
	screenQuiet = 1500 * time.Millisecond // of a screen that is believed to be idle
	screenMoves = 2 * time.Second         // since a change that shows work
)

// read finds the evidence on a screen that changed last at a time.
func (r ScreenRules) read(text string, changed, now time.Time) runtime.Activity {
	sight, table := rule.TextSight(text), append(slices.Clone(r.Dialogs), rule.Dialogs()...)
	sight.Ready = r.Ready
	found, open := sight.Find(table)
	question := asked(sight, found, open)
	sources := []runtime.ActivitySource{dialogSource(question, changed)}
	status, pending := r.status(sight, found, changed, now)
	sources = append(sources, status, r.ready(text, found, open, changed, now),
		runtime.ActivitySource{Source: "osc7501", Evidence: "this backend shows the text of the screen and nothing else"})
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

// asked is the question of a dialog in sight, nil without one.
func asked(sight rule.Sight, found rule.Found, open bool) *runtime.Interaction {
	if !open || len(found.Options) == 0 {
		return nil
	}
	q := sight.Question(found)
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

// status is a status rule that holds, and the question of one that is blocked.
// Rules about something that is painted all the time need a change just now, and
// idle needs a pause.
func (r ScreenRules) status(sight rule.Sight, found rule.Found, changed, now time.Time) (runtime.ActivitySource, *runtime.Interaction) {
	x := runtime.ActivitySource{Source: "screen", Evidence: "this agent has no status rules"}
	if len(r.Status) == 0 {
		return x, nil
	}
	moves := !changed.IsZero() && now.Sub(changed) < screenMoves
	rules := slices.DeleteFunc(slices.Clone(r.Status), func(s rule.Status) bool { return s.Moves && !moves })
	at := slices.IndexFunc(sight.Lines, func(line string) bool { return r.Ready != "" && rule.IsPrompt(line, r.Ready) })
	hit, why := rule.FindStatus(rule.View{Screen: strings.Join(sight.Lines, "\n"), Composer: sight.Composer(at)}, rules)
	if x.Evidence = why; hit == nil {
		return x, nil
	}
	x.Evidence = fmt.Sprintf("rule %s: %q", hit.Name, why)
	if hit.State == runtime.ActivityIdle && !quiet(changed, now) {
		x.Evidence += ", but there was output a moment ago, or that is not known"
		return x, nil
	}
	x.State, x.Kind, x.Since = hit.State, hit.Kind, changed
	if hit.State != runtime.ActivityBlocked {
		return x, nil
	}
	return x, &runtime.Interaction{RequestID: fmt.Sprintf("%s %s", hit.Name, why), Kind: hit.Kind, Prompt: why}
}

// ready is the agent's prompt, which stands open on a screen at rest.
func (r ScreenRules) ready(text string, found rule.Found, open bool, changed, now time.Time) runtime.ActivitySource {
	x := runtime.ActivitySource{Source: "ready"}
	switch {
	case r.Ready == "":
		x.Evidence = "the session has no ready prefix"
	case open || !PromptLine(text, r.Ready, found):
		x.Evidence = fmt.Sprintf("no prompt %q stands open", r.Ready)
	case !quiet(changed, now):
		x.Evidence = "the prompt is shown, but there was output a moment ago, or that is not known"
	default:
		x.State, x.Since, x.Evidence = runtime.ActivityIdle, changed, fmt.Sprintf("the prompt is shown: %q", r.Ready)
	}
	return x
}

func quiet(changed, now time.Time) bool {
	return !changed.IsZero() && now.Sub(changed) >= screenQuiet
}
