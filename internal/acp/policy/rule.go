package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/rules"
)

// rule is KIND or KIND:GLOB.
type rule struct {
	text    string
	kind    string
	pattern string // "" matches every request of the kind
}

func parseRule(text string) (rule, error) {
	r, err := rules.Parse(text)
	if errors.Is(err, rules.ErrKind) {
		err = fmt.Errorf("unknown kind %q: want %s, or one of them followed by :GLOB", r.Kind, strings.Join(rules.Kinds, ", "))
	}
	if err != nil {
		return rule{}, err
	}
	return rule{text, r.Kind, r.Pattern}, nil
}

// named returns the rule as the transcript shows it.
func (r rule) named(list string) string { return fmt.Sprintf("%s %q", list, r.text) }

// request is compared with rules.
type request struct {
	kind      string
	command   string
	title     string
	locations []string // of the tool and of its diffs
	workDir   string
}

func newRequest(t *conversation.Tool, workDir string) request {
	if t == nil {
		return request{workDir: workDir}
	}
	r := request{kind: t.Kind, command: strings.TrimSpace(t.Command), title: strings.TrimSpace(t.Title), workDir: workDir}
	if r.command != "" { // whatever the agent calls it: a command may do anything
		r.kind = rules.Execute
	}
	r.locations = slices.Clone(t.Locations)
	for _, d := range t.Diffs {
		r.locations = append(r.locations, d.Path)
	}
	return r
}

// reads reports whether the request only reads below the work directory. One without
// a location may read anything.
func (r request) reads() bool {
	if r.kind != "read" && r.kind != "search" || len(r.locations) == 0 {
		return false
	}
	return !slices.ContainsFunc(r.locations, func(path string) bool { return !matchPath("**", path, r.workDir) })
}

// allows reports whether an allow rule matches: the command, or every location. The
// title is not trusted to be the command.
func (r rule) allows(q request) bool {
	switch {
	case r.kind != q.kind:
		return false
	case r.pattern == "":
		return true
	case r.kind == rules.Execute:
		return matchCommand(r.pattern, q.command)
	}
	return len(q.locations) > 0 &&
		!slices.ContainsFunc(q.locations, func(path string) bool { return !matchPath(r.pattern, path, q.workDir) })
}

// verdict is an answer to a yes-no question.
type verdict int

const (
	unknown verdict = iota
	yes
	no
)

// maxCommand is the length in bytes up to which a deny rule judges a command: of a
// longer one a part may be missing.
const maxCommand = 32 << 10

// denies reports whether a deny rule matches: any part of the command (of the title
// if there is no command), or any location. It is unknown where the request does not
// say enough.
func (r rule) denies(q request) verdict {
	switch {
	case q.kind == "":
		return unknown
	case r.kind != q.kind:
		return no
	case r.pattern == "":
		return yes
	case r.kind == rules.Execute:
		return r.deniesCommand(q)
	case slices.ContainsFunc(q.locations, func(path string) bool { return touchesPath(r.pattern, path, q.workDir) }):
		return yes
	case len(q.locations) == 0 || slices.ContainsFunc(q.locations, func(name string) bool { return !path.IsAbs(name) }):
		return unknown
	}
	return no
}

func (r rule) deniesCommand(q request) verdict {
	command := q.command
	if command == "" {
		command = q.title
	}
	switch {
	case matchAnyPart(r.pattern, command):
		return yes
	case command == "" || len(command) > maxCommand:
		return unknown
	}
	return no
}
