package status

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gascity.dev/gc/internal/rule"
)

// contextRows bounds what is shown of the lines above a question.
const contextRows = 30

// pending is the question behind a finding.
func (d *Detector) pending(x Finding) *Pending {
	if d.look.open {
		p := d.look.pending
		p.Kind = x.Kind
		return &p
	}
	if x.Source == FromScreen {
		return &Pending{Kind: x.Kind, Prompt: d.look.ruleLine, Selected: -1, ID: fingerprint(x.Source, x.Kind, d.look.ruleLine)}
	}
	r, _ := d.s.reported()
	p := Pending{Kind: x.Kind, Prompt: r.Msg, Context: r.Title, Selected: -1}
	p.ID = fingerprint(x.Source, r.ID, r.Kind, r.Msg, r.Since.String())
	return &p
}

// menuPending is a menu's question.
func menuPending(screen string, f rule.Found) Pending {
	p := Pending{
		Kind: f.Dialog.Kind, Prompt: f.Question, Options: f.Labels(), Selected: f.Marked, Dialog: f.Dialog.Name,
		Context: contextOf(strings.Split(screen, "\n"), f.Options[0].Row),
	}
	if f.Marked >= 0 {
		p.Marked = p.Options[f.Marked]
	}
	if p.Kind == "" {
		p.Kind = kindOf(p.Options)
	}
	p.ID = fingerprint(append([]string{p.Prompt, p.Context}, p.Options...)...)
	return p
}

// contextOf is what belongs to a question above its options: the lines up to
// the top of their frame or a rule across the screen, else up to a blank line
// behind the question.
func contextOf(lines []string, first int) string {
	top := -1
	for i := first - 1; i >= max(first-contextRows, 0); i-- {
		if isRule(lines[i]) {
			top = i
			break
		}
	}
	var out []string
	for i := first - 1; i > top && i >= 0; i-- {
		text := strings.Trim(lines[i], "│┃║| \t\u00a0")
		if text == "" && top < 0 && len(out) > 0 {
			break
		}
		if text != "" {
			out = append(out, text)
		}
	}
	slices.Reverse(out)
	return strings.Join(out, "\n")
}

// isRule reports whether a line is the edge of a frame.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return len([]rune(line)) >= 8 && strings.Trim(line, "╭╮╰╯┌┐└┘├┤─━═▀▄-") == ""
}

// Words that options for and against a permission begin with.
var (
	yesWords = []string{"yes", "allow", "approve", "accept", "run", "proceed"}
	noWords  = []string{"no", "deny", "reject", "decline", "don't", "cancel"}
)

// kindOf guesses what an unknown menu is about: one that can be allowed and
// refused asks for a permission.
func kindOf(options []string) string {
	begins := func(words []string) bool {
		return slices.ContainsFunc(options, func(o string) bool {
			first, _, _ := strings.Cut(strings.ToLower(o), " ")
			return slices.Contains(words, strings.TrimRight(first, ",.:;"))
		})
	}
	if begins(yesWords) && begins(noWords) {
		return Permission
	}
	return Question
}

var yesNo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)[\[(](y/n|yes/no)(/[^\])]*)?[\])]\s*[:?>]?$`)
})

// asksYesNo reports whether a line ends with a question for a letter.
func asksYesNo(line string) bool { return yesNo().MatchString(strings.TrimSpace(line)) }

func linePending(line string) Pending {
	line = strings.TrimSpace(line)
	return Pending{ID: fingerprint(line), Kind: Question, Prompt: line, Selected: -1}
}

// fingerprint tells questions apart.
func fingerprint(parts ...string) string {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p)) // never fails
		_, _ = h.Write([]byte{0})
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
