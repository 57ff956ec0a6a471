package rule

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Question is a question on a screen that waits for an answer.
type Question struct {
	ID         string // changes with the question and its options
	Kind       string // one of Kinds
	Prompt     string // the question, in one line
	Context    string // related lines above the options
	Options    []string
	Marked     int    // index of the selected option; -1 if unknown
	Horizontal bool   // the options are side by side: Left and Right move
	Dialog     string // its name, if it is a known one
}

// Limits of the text kept of a question.
const (
	contextRows = 30
	promptRunes = 400
)

// Question returns the question of a dialog in sight; found is the result of
// Find, with options.
func (s DialogView) Question(found Found) Question {
	above := s.above(found.Options[0].Row)
	q := Question{
		Kind: found.Dialog.Kind, Prompt: found.Question, Options: found.Labels(), Marked: found.Marked,
		Horizontal: found.Horizontal, Dialog: found.Dialog.Name,
	}
	var lines []string
	for _, p := range above {
		lines = append(lines, p.lines...)
	}
	q.Context = strings.Join(lines, "\n")
	at := slices.IndexFunc(above, func(p paragraph) bool { return p.first <= found.at && found.at <= p.last })
	if !found.Known || at >= 0 && !above[at].asks() {
		at = -1
	}
	for i := len(above) - 1; i >= 0 && at < 0 && !found.Known; i-- {
		if above[i].asks() {
			at = i
		}
	}
	switch {
	case at >= 0:
		q.Prompt = clip(above[at].question())
	case !found.Known:
		if i := slices.IndexFunc(lines, heading().MatchString); i >= 0 {
			q.Prompt = clip(lines[i])
		}
	}
	if q.Kind == "" {
		q.Kind = kindOf(q.Prompt, q.Options)
	}
	h := fnv.New64a()
	for _, part := range append([]string{q.Prompt, q.Context}, q.Options...) {
		_, _ = h.Write([]byte(part)) // never fails
		_, _ = h.Write([]byte{0})
	}
	q.ID = fmt.Sprintf("%016x", h.Sum64())
	return q
}

// paragraph is text without a blank line or an edge.
type paragraph struct {
	first, last int // rows
	lines       []string
}

// asking matches a question mark at the end of a sentence.
var asking = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[?？]["')]?(\s|$)`) })

// heading matches a line that requests something without asking.
var heading = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(permission|approval|confirmation|login|sign-?in) (is )?(required|needed)\b|\brequires? (your )?(permission|approval|confirmation)\b|^\W*(select|choose|pick) `)
})

func (p paragraph) asks() bool { return slices.ContainsFunc(p.lines, asking().MatchString) }

// wants reports whether it is, or may be, the question.
func (p paragraph) wants() bool {
	return p.asks() || slices.ContainsFunc(p.lines, heading().MatchString)
}

// question returns the paragraph from the first line that may begin the
// question: a command right above is not part of it.
func (p paragraph) question() string {
	last := len(p.lines) - 1
	for !asking().MatchString(p.lines[last]) {
		last--
	}
	first := last
	for first > 0 && continues(p.lines[first-1], p.lines[first]) {
		first--
	}
	for last < len(p.lines)-1 && continues(p.lines[last], p.lines[last+1]) {
		last++
	}
	return strings.Join(p.lines[first:last+1], " ")
}

// continues reports whether a line continues on the next: it is long, and ends
// no sentence.
func continues(line, next string) bool {
	const wrapped = 50
	return len([]rune(line)) >= wrapped && !strings.ContainsAny(lastRune(line), ".?!:…") && next != ""
}

// above returns the paragraphs above the options that belong to the question,
// top first: up to the top of its frame or a rule across the screen; without
// one, up to the paragraph that asks, or else the nearest.
func (s DialogView) above(first int) []paragraph {
	rows := s.rows()
	top, bounded := max(first-contextRows, 0), false
	for i := first - 1; i >= top; i-- {
		if isRule(s.Lines[i]) {
			top, bounded = i+1, true
			break
		}
	}
	var out []paragraph
	for i := first - 1; i >= top; i-- {
		if rows[i].edge || !rows[i].text && cleanLine(s.Lines[i]) == "" {
			if done := len(out) > 0 && (out[len(out)-1].wants() || !s.asksAbove(rows, i, top)); done && !bounded {
				break
			}
			continue
		}
		if !bounded && isTalk(s.Lines[i]) {
			break
		}
		text := strings.Trim(s.Lines[i], bars+" \t\u00a0")
		if n := len(out); n > 0 && out[n-1].first == i+1 {
			out[n-1].first, out[n-1].lines = i, append([]string{text}, out[n-1].lines...)
		} else {
			out = append(out, paragraph{i, i, []string{text}})
		}
	}
	slices.Reverse(out)
	return out
}

// asksAbove reports whether the rows from top to at contain a question, below
// earlier conversation.
func (s DialogView) asksAbove(rows []row, at, top int) bool {
	for i := at; i >= top; i-- {
		if isTalk(s.Lines[i]) {
			return false
		}
		if rows[i].text && (asking().MatchString(s.Lines[i]) || heading().MatchString(s.Lines[i])) {
			return true
		}
	}
	return false
}

// isTalk reports whether a line begins what an agent or a person said, or a
// step of the agent's work.
func isTalk(line string) bool { return talk().MatchString(line) }

var talk = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*[•⏺●⎿└✻✽✶✳✢✦⊶>❯›][\x{fe0e}\x{fe0f}]?\s`)
})

// isRule reports whether a line is the edge of a frame or a rule across the
// screen.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return isEdge(line) && !strings.ContainsAny(line, bars+dashes)
}

func clip(s string) string {
	if r := []rune(s); len(r) > promptRunes {
		return string(r[:promptRunes-1]) + "…"
	}
	return s
}

// First words of options for and against a permission.
var (
	forWords     = []string{"yes", "allow", "approve", "accept", "run", "proceed", "always"}
	againstWords = []string{"no", "deny", "reject", "decline", "don't", "cancel", "never"}
)

// forAndAgainst reports whether one option allows and another refuses.
func forAndAgainst(options []string) bool {
	begins := func(words []string) bool {
		return slices.ContainsFunc(options, func(o string) bool {
			first, _, _ := strings.Cut(strings.ToLower(o), " ")
			return slices.Contains(words, strings.TrimRight(first, ",.:;"))
		})
	}
	return begins(forWords) && begins(againstWords)
}

var (
	trustWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\btrust\b.*\b(folder|director(y|ies)|workspace|project|files?|repositor(y|ies)|authors?)\b|\b(folder|directory|workspace) trust\b`)
	})
	authWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(log|sign)(ing)? ?-?in\b|\blogin\b|\bauthenticat|\bapi[ -]?keys?\b|\bcredentials?\b|\baccess method\b|\bconnect a (model )?provider\b`)
	})
)

// kindOf guesses the kind of an unknown menu: one that can be allowed and
// refused is about a permission, or about trust.
func kindOf(prompt string, options []string) string {
	switch {
	case trustWords().MatchString(prompt):
		return KindTrust
	case forAndAgainst(options):
		return KindPermission
	case authWords().MatchString(prompt) || slices.ContainsFunc(options, authWords().MatchString):
		return KindAuth
	}
	return KindQuestion
}
