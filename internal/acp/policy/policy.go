// Package policy decides which of an agent's questions are answered without a
// person. It is pure: a question in, a decision out.
//
// Its invariant: no decision ever picks an option that holds beyond the one request
// ("always"), and a request that cannot be judged is never allowed.
//
// A policy covers only what an agent asks for. It is not a sandbox: paths are compared
// as text, so a symbolic link inside the work directory is not followed.
package policy

import (
	"fmt"
	"slices"
	"strings"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/rules"
)

// Permissions: what happens to a request that no rule matches; see package rules.
const (
	Ask       = rules.Ask
	AllowRead = rules.AllowRead
	Allow     = rules.Allow
	Deny      = rules.Deny
)

// Config is a policy as configured. The zero value asks about everything.
type Config struct {
	Permission  string   // "" is Ask
	Allow, Deny []string // rules: KIND or KIND:GLOB; a deny rule wins
	WorkDir     string   // absolute; relative patterns begin here
}

// Policy is a checked Config. It is safe for concurrent use.
type Policy struct {
	permission  string
	allow, deny []rule
	workDir     string
}

// New checks a configuration. The error names the bad value and the valid ones.
func New(c Config) (*Policy, error) {
	p := &Policy{permission: c.Permission, workDir: cleanDir(c.WorkDir)}
	if p.permission == "" {
		p.permission = Ask
	}
	if !slices.Contains(rules.Permissions, p.permission) {
		return nil, fmt.Errorf("permission %q: want %s", c.Permission, strings.Join(rules.Permissions, ", "))
	}
	var err error
	if p.deny, err = parseRules("deny", c.Deny); err != nil {
		return nil, err
	}
	if p.allow, err = parseRules("allow", c.Allow); err != nil {
		return nil, err
	}
	return p, nil
}

func parseRules(list string, texts []string) ([]rule, error) {
	var out []rule
	for _, text := range texts {
		r, err := parseRule(text)
		if err != nil {
			return nil, fmt.Errorf("%s rule %q: %w", list, text, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Answer is what to do with a question.
type Answer string

// Answers.
const (
	AnswerAsk       Answer = "ask"       // a person or a controller answers
	AnswerOption    Answer = "option"    // the option of Decision.OptionID
	AnswerCancelled Answer = "cancelled" // the request is cancelled
)

// Decision is the answer to one question.
type Decision struct {
	Answer   Answer
	OptionID string // AnswerOption: the option's ID
	Rule     string // the rule that decided, for the transcript: `deny "execute:git push*"`
}

// Decide returns the answer to a question: the first match of the deny rules, the
// allow rules and the permission. Questions other than requests for permission are
// asked.
//
// A deny rule with a pattern cannot be judged if the request names no command or no
// absolute location, or a command so long that a part may be missing; without a kind
// no deny rule can. Such a request is asked where it would have been allowed.
func (p *Policy) Decide(q conversation.Question) Decision {
	if q.Kind != "permission" {
		return Decision{Answer: AnswerAsk}
	}
	switch outcome, rule := p.judge(newRequest(q.Tool, p.workDir)); outcome {
	case yes:
		return allow(q, rule)
	case no:
		return reject(q, rule)
	default:
		return Decision{Answer: AnswerAsk, Rule: rule}
	}
}

// judge returns whether the request is allowed (unknown: someone decides), and what
// says so.
func (p *Policy) judge(r request) (allowed verdict, by string) {
	unclear := ""
	for _, rule := range p.deny {
		switch rule.denies(r) {
		case yes:
			return no, rule.named("deny")
		case unknown:
			if unclear == "" {
				unclear = rule.named("deny") + " cannot be judged"
			}
		}
	}
	if allowed, by = p.judgeUndenied(r); allowed == yes && unclear != "" {
		return unknown, unclear
	}
	return allowed, by
}

// judgeUndenied is judge for a request that no deny rule matches.
func (p *Policy) judgeUndenied(r request) (allowed verdict, by string) {
	for _, rule := range p.allow {
		if rule.allows(r) {
			return yes, rule.named("allow")
		}
	}
	by = fmt.Sprintf("permission = %q", p.permission)
	switch {
	case p.permission == Allow, p.permission == AllowRead && r.reads():
		return yes, by
	case p.permission == Deny:
		return no, by
	}
	return unknown, by
}

// Timeout returns the answer to a question that was open for too long.
func Timeout(q conversation.Question) Decision { return reject(q, "ask_timeout") }

// allow picks the option that allows this one request. If there are several, they
// differ in more than that (one may change the agent's mode), and someone chooses.
func allow(q conversation.Question, rule string) Decision {
	found := ofKind(q, "allow_once")
	if len(found) != 1 {
		return Decision{Answer: AnswerAsk, Rule: rule}
	}
	return Decision{Answer: AnswerOption, OptionID: found[0].ID, Rule: rule}
}

// reject picks the first option that rejects this one request: every one of them
// does, and none grants anything.
func reject(q conversation.Question, rule string) Decision {
	if found := ofKind(q, "reject_once"); len(found) > 0 {
		return Decision{Answer: AnswerOption, OptionID: found[0].ID, Rule: rule}
	}
	return Decision{Answer: AnswerCancelled, Rule: rule}
}

func ofKind(q conversation.Question, kind string) []conversation.Option {
	var out []conversation.Option
	for _, o := range q.Options {
		if o.Kind == kind {
			out = append(out, o)
		}
	}
	return out
}
