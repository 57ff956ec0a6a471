package host

import (
	"cmp"
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
	form    *protocol.Field     // of an elicitation: the one that is asked for
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
	settled     *control.Answered
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

// maxSubject is how much of a command, or of arguments, stands behind its title.
const maxSubject = 1000

// subject is what a tool call is about: its title, and the command, the arguments or the
// file if the title does not have them. Codex calls "ls /" "List files".
func subject(t *conversation.Tool) string {
	what := cmp.Or(t.Command, t.Arguments(), t.File())
	what = clean(strings.ReplaceAll(what, "\n", " "))
	if len(what) > maxSubject {
		what = strings.ToValidUTF8(what[:maxSubject], "") + "…"
	}
	switch {
	case strings.Contains(t.Title, what): // also without one
		return t.Title
	case t.Title == "":
		return what
	}
	return t.Title + ": " + what
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
		label = unique(seen, label)
		out = append(out, conversation.Option{ID: o.OptionID, Label: label, Kind: o.Kind})
	}
	return out
}

// unique makes a second label of the same name another one.
func unique(seen map[string]int, label string) string {
	if seen[label]++; seen[label] > 1 {
		return fmt.Sprintf("%s (%d)", label, seen[label])
	}
	return label
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
		q.answer(x, "", byHost+"interrupted")
	case len(q.open) >= maxOpen:
		q.answer(x, "", byHost+"too many questions are open")
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
			q.answer(x, policy.Timeout(x.Question).OptionID, byHost+"nobody answered")
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
	if option == "" {
		label = ""
	}
	q.ended(x, label, by)
	x.send(option)
}

// ended notes who answered a question; a client's answer is the client's to report.
func (q *questions) ended(x *question, label, by string) {
	q.settled = &control.Answered{RequestID: x.ID, Option: label, By: by}
	if by != control.Person && by != byAgent && !strings.HasPrefix(by, byHost) {
		q.settled = nil
	}
}

// Authors of answers, besides clients and the person at the terminal.
const (
	byAgent = "agent"
	byHost  = "gc: " // and the reason
)

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
		q.answer(x, "", byHost+why)
	}
}

// withdrawn handles $/cancel_request: the agent no longer waits for the answer.
func (q *questions) withdrawn(id json.RawMessage) {
	for _, x := range q.open {
		if string(x.request) == string(id) {
			q.take(x)
			q.h.record.answer(x.ID, "withdrawn", byAgent)
			q.ended(x, "", byAgent)
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
	if x.Text {
		p.Metadata["text"] = "true"
	}
	if x.Tool != nil {
		p.Metadata["tool"] = x.Tool.Kind
		if x.Tool.Command != "" {
			p.Metadata["command"] = x.Tool.Command
		}
		if args := x.Tool.Arguments(); args != "" {
			p.Metadata["input"] = args
		}
		if len(x.Tool.Locations) > 0 {
			p.Metadata["path"] = x.Tool.Locations[0]
		}
	}
	return p
}
