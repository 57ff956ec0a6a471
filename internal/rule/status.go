package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gascity.dev/gc/internal/clock"
)

// The regions of a terminal that a status rule may look at.
const (
	// Bottom is the default: the last rows with text; if the composer's
	// position is known, only the composer, what is below it and, for a working
	// program, the line right above it: never the conversation.
	Bottom = "bottom"
	Screen = "screen" // all of it, including what a conversation quotes
	Line   = "line"   // the cursor's line
	Footer = "footer" // the last row with text, below the composer
	Title  = "title"  // the window title
)

// Regions lists all regions.
var Regions = []string{Bottom, Screen, Line, Footer, Title}

// Status is a rule that detects from a screen what an agent is doing. Texts are
// matched verbatim, including case and line breaks.
type Status struct {
	Name     string   `json:"name"`
	State    string   `json:"state"`
	Kind     string   `json:"kind,omitempty"`   // what it is blocked on; "" is question
	Region   string   `json:"region,omitempty"` // "" is Bottom
	All      []string `json:"all,omitempty"`    // all of these are present,
	Any      []string `json:"any,omitempty"`    // and one of these, if any,
	Not      []string `json:"not,omitempty"`    // and none of these
	Priority int      `json:"priority,omitempty"`
	// Moves: the texts belong to something that is repainted all the time, such
	// as a spinner. If nothing moves they are a quotation, and the rule does
	// not hold.
	Moves bool `json:"moves,omitempty"`
	// Settle: for an idle rule, the pause in the output that it needs (0 is the
	// default, which is none for a title); for a blocked rule, how long to wait for
	// its question to appear.
	Settle clock.Millis `json:"settle,omitzero"`
}

// Check fills in defaults and reports what makes the rule useless.
func (r *Status) Check() error {
	r.Region = cmp.Or(r.Region, Bottom)
	if r.State == StateBlocked {
		r.Kind = cmp.Or(r.Kind, KindQuestion)
	}
	has := func(list []string, s string) bool { return slices.Contains(list, s) }
	switch {
	case r.Name == "":
		return fmt.Errorf("status rule without a name")
	case !has(States, r.State):
		return fmt.Errorf("status rule %q: state is %q; valid: %s", r.Name, r.State, strings.Join(States, ", "))
	case r.State != StateBlocked && r.Kind != "":
		return fmt.Errorf("status rule %q: kind requires state = \"blocked\"", r.Name)
	case r.Kind != "" && !has(Kinds, r.Kind):
		return fmt.Errorf("status rule %q: kind is %q; valid: %s", r.Name, r.Kind, strings.Join(Kinds, ", "))
	case !has(Regions, r.Region):
		return fmt.Errorf("status rule %q: region is %q; valid: %s", r.Name, r.Region, strings.Join(Regions, ", "))
	case len(r.All)+len(r.Any) == 0:
		return fmt.Errorf("status rule %q: requires texts in all or any", r.Name)
	case r.Settle < 0:
		return fmt.Errorf("status rule %q: settle is negative", r.Name)
	case has(r.All, "") || has(r.Any, "") || has(r.Not, ""):
		return fmt.Errorf("status rule %q: empty text", r.Name)
	}
	return nil
}

// View is the input of status rules.
type View struct {
	Screen string // the text, without scrollback
	Line   string // the cursor's
	Title  string
	// Composer is the screen row where the agent's composer begins; 0: unknown.
	Composer int
	// Status includes the line above the composer in Bottom: there agents show
	// that they work. A conversation may end with the same words.
	Status bool
}

func (v View) region(name string) string {
	switch name {
	case Screen:
		return v.Screen
	case Line:
		return v.Line
	case Title:
		return v.Title
	case Footer:
		return v.tail(1)
	}
	return v.tail(tailRows)
}

// tail returns the end of the screen, from the nth-last row with text on.
func (v View) tail(n int) string {
	lines := strings.Split(v.Screen, "\n")
	from, rows, top := len(lines), 0, v.Composer
	if top > 0 && v.Status {
		for top--; top > 0 && cleanLine(lines[top]) == ""; top-- {
		}
	}
	for from > top && rows < n {
		from--
		if cleanLine(lines[from]) != "" {
			rows++
		}
	}
	return strings.Join(lines[from:], "\n")
}

// Match reports whether the rule holds, and why: the line with the matching
// text, or what prevents it.
func (r *Status) Match(v View) (ok bool, why string) {
	text := v.region(r.Region)
	where := "in the region " + cmp.Or(r.Region, Bottom)
	for _, s := range r.Not {
		if strings.Contains(text, s) {
			return false, fmt.Sprintf("%q is %s", s, where)
		}
	}
	for _, s := range r.All {
		if !strings.Contains(text, s) {
			return false, fmt.Sprintf("%q is not %s", s, where)
		}
		why = s
	}
	if i := slices.IndexFunc(r.Any, func(s string) bool { return strings.Contains(text, s) }); i >= 0 {
		why = r.Any[i]
	} else if len(r.Any) > 0 {
		return false, fmt.Sprintf("none of %q is %s", r.Any, where)
	}
	first, _, _ := strings.Cut(why, "\n")
	for line := range strings.Lines(text) {
		if strings.Contains(line, first) {
			return true, cleanLine(strings.TrimRight(line, "\n"))
		}
	}
	return true, first
}

// FindStatus returns the rule of the highest priority that holds (the first of
// equals), and the line it found. If none holds, why says so for every rule.
func FindStatus(v View, rules []Status) (found *Status, why string) {
	var reasons []string
	for i := range rules {
		r := &rules[i]
		ok, text := r.Match(v)
		switch {
		case !ok:
			reasons = append(reasons, r.Name+": "+text)
		case found == nil || r.Priority > found.Priority:
			found, why = r, text
		}
	}
	if found == nil {
		why = strings.Join(reasons, "; ")
	}
	return found, why
}
