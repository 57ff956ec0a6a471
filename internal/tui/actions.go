package tui

import (
	"context"
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
)

// actionKeys are the keys of actions.
var actionKeys = map[string]fleet.Action{
	"i": fleet.Interrupt, "r": fleet.Restart, "s": fleet.Stop, "t": fleet.Start, "z": fleet.Suspend, "Z": fleet.Resume, "v": fleet.Seen,
}

// did are the words for what was done.
var did = map[fleet.Action]string{
	fleet.Interrupt: "interrupted", fleet.Restart: "restarting", fleet.Stop: "stopping", fleet.Start: "starting",
	fleet.Suspend: "suspended", fleet.Resume: "resumed", fleet.Seen: "seen",
}

// act does something to an agent, after a question if that is destructive.
func (m *model) act(a *fleet.Agent, act fleet.Action) tea.Cmd {
	if !slices.Contains(a.Can, act) {
		m.note("cannot "+string(act)+" "+a.Name+": it is "+a.State, false, true)
		return nil
	}
	id, name, source := a.ID, a.Name, m.source
	do := work(func(ctx context.Context) tea.Msg {
		err := source.Do(ctx, id, act)
		return doneMsg{text: name + ": " + did[act], err: named(name+": "+string(act), err)}
	})
	if !act.Destructive() {
		return do
	}
	m.open(&confirm{question: capital(string(act)) + " " + name + "?", yes: do})
	return nil
}

// choose answers an agent's question with an option, after a confirmation.
func (m *model) choose(a *fleet.Agent, n int) tea.Cmd {
	q := a.Question
	if q == nil {
		m.note(a.Name+" asks nothing", false, true)
		return nil
	}
	if n >= len(q.Options) {
		m.note(a.Name+" has no such option", false, true)
		return nil
	}
	option := q.Options[n]
	m.open(&confirm{
		question: "Answer " + a.Name + ": " + option + "?", detail: q.Prompt,
		yes:   m.answer(a, fleet.Answer{Request: q.Request, Option: option}),
		agent: a.ID, request: q.Request,
	})
	return nil
}

// answer answers the question that the person saw, or none.
func (m *model) answer(a *fleet.Agent, answer fleet.Answer) tea.Cmd {
	id, name, source := a.ID, a.Name, m.source
	return work(func(ctx context.Context) tea.Msg {
		err := source.Answer(ctx, id, answer)
		if errors.Is(err, fleet.ErrChanged) {
			return doneMsg{text: name + ": " + notAnswered(err), sticky: true, bad: true}
		}
		return doneMsg{text: name + ": answered " + answer.Option + answer.Text, err: named(name+": answer", err)}
	})
}

// notAnswered is why an answer did not go through: the question has changed, or is still open.
func notAnswered(err error) string {
	text := strings.TrimPrefix(err.Error(), fleet.ErrChanged.Error())
	if text = strings.TrimLeft(strings.ReplaceAll(text, "\n", ": "), ": "); text == "" {
		return changed
	}
	return text
}

// changed is said instead of an answer to another question than the one that was seen.
const changed = "the question has changed; nothing was answered"

// work is a command of the loop that calls the fleet.
func work(do func(ctx context.Context) tea.Msg) tea.Cmd {
	return guarded(func() tea.Msg { return do(context.Background()) })
}

// named adds what was tried.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return &whatError{what, err}
}

type whatError struct {
	what string
	err  error
}

func (e *whatError) Error() string { return e.what + ": " + e.err.Error() }
func (e *whatError) Unwrap() error { return e.err }

func capital(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
