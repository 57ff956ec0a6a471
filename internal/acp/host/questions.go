package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/policy"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
)

// Limits of questions.
const (
	maxOpen  = 16 // further ones are cancelled
	maxGiven = 64 // ids of answers that are remembered
)

// question is an open question and the request that it answers.
type question struct {
	conversation.Question
	request json.RawMessage     // the agent's id
	send    func(option string) // answers the request; "" is cancelled
	form    *protocol.Field     // of an elicitation: its only field
	opened  time.Time
}

// questions are the open questions of the agent, the oldest first. The oldest one is
// shown; after its answer the next one is.
type questions struct {
	h           *host
	policy      *policy.Policy
	incarnation string
	count       int
	open        []*question
	given       []string // the ids of the latest answers that were carried out
}

// permission handles session/request_permission.
func (q *questions) permission(m wire.Message) {
	var r protocol.PermissionRequest
	if err := protocol.Decode(m.Params, &r); err != nil || len(r.Options) == 0 || r.SessionID != q.h.peer.session {
		q.h.peer.fail(m.ID, wire.CodeInvalidParams, "a permission requires options, and this session's id")
		return
	}
	tool := q.h.conv.ToolFor(r.ToolCall)
	x := &question{request: m.ID, Question: conversation.Question{
		Kind: "permission", Title: subject(&tool), Tool: &tool, Options: options(r.Options),
	}}
	x.send = func(option string) {
		if option == "" {
			q.h.peer.reply(m.ID, protocol.Cancelled())
		} else {
			q.h.peer.reply(m.ID, protocol.Selected(option))
		}
	}
	q.add(x)
}

// maxSubject is how much of a command stands behind its title.
const maxSubject = 1000

// subject is what a tool call is about: its title, and the command if the title does not
// have it. Codex calls "ls /" "List files".
func subject(t *conversation.Tool) string {
	command := clean(strings.ReplaceAll(t.Command, "\n", " "))
	if len(command) > maxSubject {
		command = strings.ToValidUTF8(command[:maxSubject], "") + "…"
	}
	switch {
	case strings.Contains(t.Title, command): // also without one
		return t.Title
	case t.Title == "":
		return command
	}
	return t.Title + ": " + command
}

// options gives every option a label of its own.
func options(list []protocol.PermissionOption) []conversation.Option {
	seen := map[string]int{}
	var out []conversation.Option
	for _, o := range list {
		label := clean(o.Name)
		if label == "" {
			label = clean(o.OptionID)
		}
		if seen[label]++; seen[label] > 1 {
			label = fmt.Sprintf("%s (%d)", label, seen[label])
		}
		out = append(out, conversation.Option{ID: o.OptionID, Label: label, Kind: o.Kind})
	}
	return out
}

// elicitation handles elicitation/create: a form with one field.
func (q *questions) elicitation(m wire.Message) {
	var r protocol.ElicitationRequest
	if err := protocol.Decode(m.Params, &r); err != nil || r.Mode != protocol.ModeForm {
		q.h.peer.fail(m.ID, wire.CodeInvalidParams, "only forms are supported")
		return
	}
	_, choices, ok := r.Field()
	if !ok { // several fields: a person must use the agent's own interface
		q.h.peer.reply(m.ID, protocol.ElicitationResult{Action: protocol.ActionDecline})
		q.h.conv.AddNotice("the agent asked for a form with several fields, which gc declines: " + clean(r.Message))
		return
	}
	x := &question{request: m.ID, form: &r.Schema.Properties[0], Question: conversation.Question{Kind: "question", Title: clean(r.Message), Text: len(choices) == 0}}
	for _, c := range choices {
		x.Options = append(x.Options, conversation.Option{ID: c, Label: clean(c)})
	}
	x.send = func(option string) {
		if option == "" {
			q.h.peer.reply(m.ID, protocol.ElicitationResult{Action: protocol.ActionCancel})
			return
		}
		value, err := x.form.Value(option)
		if err != nil { // not one of ours: options are values of the form
			value = option
		}
		q.fill(x, value)
	}
	q.add(x)
}

// add opens a question, unless the policy answers it or too many are open.
func (q *questions) add(x *question) {
	q.count++
	x.ID, x.opened = fmt.Sprintf("%s-%d", q.incarnation, q.count), time.Now()
	q.h.record.question(x.Question)
	switch d := q.policy.Decide(x.Question); {
	case d.Answer == policy.AnswerCancelled:
		q.answer(x, "", "policy: "+d.Rule)
	case d.Answer == policy.AnswerOption:
		q.answer(x, d.OptionID, "policy: "+d.Rule)
	case q.h.turns.cancelled():
		q.answer(x, "", "gc: interrupted")
	case len(q.open) >= maxOpen:
		q.answer(x, "", "gc: too many questions are open")
	default:
		q.open = append(q.open, x)
		q.expire(x)
		q.h.changed()
	}
}

// expire rejects the question after the configured time, if any.
func (q *questions) expire(x *question) {
	if q.h.launch.AskTimeout <= 0 {
		return
	}
	q.h.loop.after(q.h.launch.AskTimeout, func() {
		if q.take(x) {
			q.answer(x, policy.Timeout(x.Question).OptionID, "gc: nobody answered")
			q.h.changed()
		}
	})
}

// take removes an open question and reports whether it was open.
func (q *questions) take(x *question) bool {
	i := slices.Index(q.open, x)
	if i < 0 {
		return false
	}
	q.open = slices.Delete(q.open, i, i+1)
	return true
}

// answer sends the agent an answer; option "" is cancelled.
func (q *questions) answer(x *question, option, by string) {
	label := "cancelled"
	for _, o := range x.Options {
		if o.ID == option && option != "" {
			label = o.Label
		}
	}
	q.h.record.answer(x.ID, label, by)
	if by != "" {
		q.h.conv.AddNotice(fmt.Sprintf("%s: %s (%s)", x.Title, label, by))
	}
	x.send(option)
}

// fill answers a form.
func (q *questions) fill(x *question, value any) {
	q.h.peer.reply(x.request, protocol.ElicitationResult{Action: protocol.ActionAccept, Content: map[string]any{x.form.Name: value}})
}

// respond answers the open question for a client. An answer whose connection broke
// may come again.
func (q *questions) respond(a control.Answer) *control.Error {
	if a.ID != "" && slices.Contains(q.given, a.ID) {
		return nil
	}
	err := q.choose(a)
	if err == nil && a.ID != "" {
		q.given = append(q.given[max(0, len(q.given)-maxGiven+1):], a.ID)
	}
	return err
}

// choose carries out an answer.
func (q *questions) choose(a control.Answer) *control.Error {
	if len(q.open) == 0 {
		return &control.Error{Code: control.CodeStale, Message: "no question is open"}
	}
	x := q.open[0]
	if a.RequestID != "" && a.RequestID != x.ID {
		return &control.Error{Code: control.CodeStale, Message: "another question is open"}
	}
	if x.Text && a.Option == "" && a.Text != "" {
		return q.answerText(x, a)
	}
	i := slices.IndexFunc(x.Options, func(o conversation.Option) bool { return o.Label == a.Option })
	if i < 0 {
		return &control.Error{Code: control.CodeStale, Message: fmt.Sprintf("the question has no option %q", clean(a.Option)), Valid: labels(x.Options)}
	}
	q.take(x)
	q.answer(x, x.Options[i].ID, a.By)
	q.h.turns.next()
	q.h.changed()
	return nil
}

// answerText answers a question that takes text.
func (q *questions) answerText(x *question, a control.Answer) *control.Error {
	value, err := x.form.Value(a.Text)
	if err != nil {
		return &control.Error{Code: control.CodeStale, Message: err.Error()}
	}
	q.take(x)
	q.h.record.answer(x.ID, a.Text, a.By)
	q.fill(x, value)
	q.h.turns.next()
	q.h.changed()
	return nil
}

func labels(list []conversation.Option) []string {
	out := make([]string, 0, len(list))
	for _, o := range list {
		out = append(out, o.Label)
	}
	return out
}

// cancelAll answers every open question with cancelled.
func (q *questions) cancelAll(why string) {
	open := q.open
	q.open = nil
	for _, x := range open {
		q.answer(x, "", "gc: "+why)
	}
}

// withdrawn handles $/cancel_request: the agent no longer waits for the answer.
func (q *questions) withdrawn(id json.RawMessage) {
	for _, x := range q.open {
		if string(x.request) == string(id) {
			q.take(x)
			q.h.record.answer(x.ID, "withdrawn", "agent")
			q.h.peer.fail(x.request, protocol.CodeCancelled, "cancelled")
			q.h.changed()
			return
		}
	}
}

// pending is the question that is shown, as clients see it.
func (q *questions) pending() *control.Question {
	if len(q.open) == 0 {
		return nil
	}
	x := q.open[0]
	p := &control.Question{RequestID: x.ID, Kind: x.Kind, Prompt: x.Title, Options: labels(x.Options), Metadata: map[string]string{}}
	for _, o := range x.Options {
		p.Metadata["option."+o.Label] = o.Kind
	}
	if x.Tool != nil {
		p.Metadata["tool"] = x.Tool.Kind
		if x.Tool.Command != "" {
			p.Metadata["command"] = x.Tool.Command
		}
		if len(x.Tool.Locations) > 0 {
			p.Metadata["path"] = x.Tool.Locations[0]
		}
	}
	return p
}
