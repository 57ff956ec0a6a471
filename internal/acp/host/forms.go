package host

import (
	"cmp"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
)

// declines is the option that refuses to fill in a form. No value of a form has its id.
const (
	declines      = "\x00decline"
	declinesLabel = "Decline"
)

// elicitation handles elicitation/create: a form with one field to fill in.
func (q *questions) elicitation(m wire.Message) {
	var r protocol.ElicitationRequest
	if err := protocol.Decode(m.Params, &r); err != nil || r.Mode != protocol.ModeForm {
		q.h.peer.fail(m.ID, wire.CodeInvalidParams, "only forms are supported")
		return
	}
	if r.SessionID != "" && r.SessionID != q.h.peer.session { // without one it belongs to a request
		q.h.peer.fail(m.ID, wire.CodeInvalidParams, "another session's id")
		return
	}
	field, ok := r.Field()
	if !ok { // a person must use the agent's own interface
		q.h.peer.reply(m.ID, protocol.ElicitationResult{Action: protocol.ActionDecline})
		q.h.conv.AddNotice("the agent asked for a form with several fields, which gc declines: " + clean(r.Message))
		return
	}
	title := cmp.Or(clean(r.Message), clean(field.Description), clean(field.Title), clean(field.Name))
	x := &question{request: m.ID, form: &field, Question: conversation.Question{
		Kind: "question", Title: title, Options: choices(field), Text: len(field.Choices) == 0,
	}}
	x.send = func(option string) {
		switch option {
		case "":
			q.h.peer.reply(m.ID, protocol.ElicitationResult{Action: protocol.ActionCancel})
		case declines:
			q.h.peer.reply(m.ID, protocol.ElicitationResult{Action: protocol.ActionDecline})
		default:
			value, err := field.Value(option)
			if err != nil { // the agent offers a value that is not of its own type
				value = option
			}
			q.fill(x, value)
		}
	}
	q.add(x)
}

// choices are the options of a form: the values of its field, and to refuse.
func choices(f protocol.Field) []conversation.Option {
	seen := map[string]int{}
	var out []conversation.Option
	for _, c := range f.Choices {
		label := unique(seen, cmp.Or(clean(c.Title), clean(c.Value)))
		out = append(out, conversation.Option{ID: c.Value, Label: label})
	}
	return append(out, conversation.Option{ID: declines, Label: unique(seen, declinesLabel), Kind: protocol.RejectOnce})
}

// fill answers a form.
func (q *questions) fill(x *question, value any) {
	q.h.peer.reply(x.request, protocol.ElicitationResult{Action: protocol.ActionAccept, Content: map[string]any{x.form.Name: value}})
}

// answerText answers a question that takes text.
func (q *questions) answerText(x *question, a control.Answer) *control.Error {
	value, err := x.form.Value(a.Text)
	if err != nil {
		return &control.Error{Code: control.CodeStale, Message: err.Error()}
	}
	q.take(x)
	q.h.record.answer(x.ID, a.Text, a.By)
	q.ended(x, a.Text, a.By)
	q.fill(x, value)
	q.h.turns.next()
	q.h.changed()
	return nil
}
