// Package attention decides what of a city needs somebody: questions, failures, messages
// that were given up, work that nobody has looked at.
//
// It is pure: it reads a status of the controller and has no clock. gc attention and
// internal/notify use it through the controller.
package attention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// Of returns what needs somebody, oldest first. ends are messages about ended background
// commands, of any owner.
func Of(agents []api.AgentStatus, nudges []session.Nudge, ends []process.Delivery) []api.Attention {
	items := []api.Attention{}
	for i := range agents {
		if it, ok := ofAgent(&agents[i]); ok {
			items = append(items, it)
		}
	}
	for i := range nudges {
		if n := &nudges[i]; n.State == session.NudgeDead {
			items = append(items, api.Attention{
				ID: "dead-letter/" + n.ID, Kind: api.AttentionDeadLetter, Agent: n.Agent, Since: ended(n),
				Text: line("message %q was given up: %s", short(n.Text), cmp.Or(n.Detail, string(n.Receipt), "no receipt")),
				Hint: "gc nudge drop " + n.ID,
			})
		}
	}
	items = append(items, deadEnds(agents, ends)...)
	slices.SortStableFunc(items, func(a, b api.Attention) int {
		switch {
		case a.Since.IsZero() != b.Since.IsZero(): // an unknown age comes last
			return cmp.Compare(zeros(a), zeros(b))
		case !a.Since.Equal(b.Since):
			return a.Since.Compare(b.Since)
		}
		return strings.Compare(a.Agent, b.Agent)
	})
	return items
}

// deadEnds are the messages about ended commands that no agent of the city will get.
func deadEnds(agents []api.AgentStatus, ends []process.Delivery) (items []api.Attention) {
	names := map[string]string{}
	for i := range agents {
		names[agents[i].Session] = agents[i].Name
	}
	for i := range ends {
		d := &ends[i]
		name := names[d.Owner]
		if d.State != process.Dead || name == "" {
			continue
		}
		items = append(items, api.Attention{
			ID: "dead-end/" + d.Event, Kind: api.AttentionDeadEnd, Agent: name, Session: d.Owner, Since: d.Updated,
			Text: line("it was not told that its background command %s ended: %s", d.Session, cmp.Or(d.Detail, "no reason is known")),
			Hint: "gc process log " + d.Session,
		})
	}
	return items
}

func zeros(a api.Attention) int {
	if a.Since.IsZero() {
		return 1
	}
	return 0
}

func ended(n *session.Nudge) time.Time {
	if n.Ended.IsZero() {
		return n.Created
	}
	return n.Ended
}

// ofAgent returns what the agent needs somebody for, if anything.
func ofAgent(ag *api.AgentStatus) (api.Attention, bool) {
	it := api.Attention{Agent: ag.Name, Session: ag.Session, Host: ag.Host}
	if ag.Since != nil {
		it.Since = *ag.Since
	}
	switch ag.State {
	case api.StateCrashed, api.StateQuarantined:
		it.Kind = string(ag.State)
		it.ID = fmt.Sprintf("%s/%s/%d", it.Kind, ag.Name, ag.Restarts)
		if e := ag.LastExit; e != nil && !e.Time.IsZero() { // restarts are counted anew after gc restart
			it.ID += fmt.Sprintf("-%d", e.Time.Unix())
		}
		it.Text, it.Hint = failure(ag), "gc restart "+ag.Name
		return it, true
	case api.StateUnknown:
		it.Kind, it.ID = api.AttentionLost, "lost/"+ag.Name
		it.Text, it.Hint = cmp.Or(line("%s", ag.Error), "its backend does not answer"), "gc doctor"
		return it, true
	case api.StateStopped, api.StateStarting:
		if ag.Error == "" {
			return it, false
		}
		it.Kind, it.ID = api.AttentionFailing, fmt.Sprintf("failing/%s/%s", ag.Name, ag.Error)
		it.Text, it.Hint = line("%s", ag.Error), cmp.Or(ag.Hint, "gc restart "+ag.Name)
		return it, true
	case api.StateRunning, api.StateDraining:
		return doing(ag, it)
	}
	return it, false
}

// failure is why an agent is down.
func failure(ag *api.AgentStatus) string {
	text := ""
	if ag.LastExit != nil {
		text = ag.LastExit.Text()
	}
	if ag.Error != "" {
		text = strings.TrimPrefix(text+"; "+ag.Error, "; ")
	}
	return line("%s", cmp.Or(text, "it died"))
}

// doing is what a running agent needs somebody for.
func doing(ag *api.AgentStatus, it api.Attention) (api.Attention, bool) {
	info := ag.ActivityInfo
	if info == nil {
		return it, false
	}
	if !info.Since.IsZero() {
		it.Since = info.Since
	}
	text := line("%s", info.Evidence)
	switch ag.Activity {
	case runtime.ActivityBlocked:
		return blocked(ag, it), true
	case runtime.ActivityStuck:
		it.Kind, it.Text, it.Hint = api.AttentionStuck, cmp.Or(text, "it says that it works, and nothing moves"), "gc peek "+ag.Name
	case runtime.ActivityError:
		it.Kind, it.Text, it.Hint = api.AttentionError, cmp.Or(text, "it reports an error"), "gc peek "+ag.Name
	case runtime.ActivityDone:
		it.Kind, it.Text, it.Hint = api.AttentionDone, "nobody has looked at what it did", "gc peek "+ag.Name
	default:
		if info.Limit == nil {
			return it, false
		}
		it.Kind, it.Text, it.Hint = api.AttentionLimited, line("%s", info.Limit.Text), "gc peek "+ag.Name
	}
	it.ID = fmt.Sprintf("%s/%s/%d", it.Kind, ag.Name, it.Since.Unix())
	return it, true
}

// blocked is an agent that waits for an answer.
func blocked(ag *api.AgentStatus, it api.Attention) api.Attention {
	info, request := ag.ActivityInfo, ""
	it.Kind, it.Text, it.Hint = api.AttentionQuestion, cmp.Or(line("%s", info.Evidence), "it waits for an answer"), "gc respond "+ag.Name
	if q := info.Pending; q != nil {
		request, it.Request, it.Options = q.RequestID, q.RequestID, q.Options
		it.Text = line("%s", q.Prompt)
	}
	switch info.Kind {
	case runtime.BlockedAuth:
		it.Kind, it.Hint = api.AttentionLogin, "gc attach "+ag.Name
	case runtime.BlockedRateLimit:
		it.Kind, it.Hint = api.AttentionLimited, "gc peek "+ag.Name
		if info.Limit != nil {
			it.Until, it.Text = info.Limit.Until, cmp.Or(line("%s", info.Limit.Text), it.Text)
		}
	}
	if request == "" {
		request = fmt.Sprint(it.Since.Unix())
	}
	it.ID = fmt.Sprintf("%s/%s/%s", it.Kind, ag.Name, request)
	return it
}

// line is a text as one line.
func line(format string, args ...any) string {
	return strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
}

// short is the beginning of a message.
func short(text string) string {
	const most = 60
	text = line("%s", text)
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
