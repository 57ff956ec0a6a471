package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Regions of a terminal that a status rule may look at.
const (
	// Bottom is the default: the last rows with text, and where the composer is
	// known, only it, what stands below it and, for a program that works, the
	// line right above it: never the conversation.
	Bottom = "bottom"
	Screen = "screen" // all of it: also what a conversation quotes
	Line   = "line"   // the cursor's line
	Footer = "footer" // the last row with text, below the composer
	Title  = "title"  // the window title
)

// Regions lists all of them.
var Regions = []string{Bottom, Screen, Line, Footer, Title}

// States are what a status rule can tell.
var States = []string{"idle", "working", "blocked", "done", "error"}

// Status is one rule that tells from a screen what an agent is doing. Its texts
// are looked for as they are; case counts, and so do line breaks.
type Status struct {
	Name     string   `json:"name"`
	State    string   `json:"state"`
	Kind     string   `json:"kind,omitempty"`   // what it is blocked on; "" is question
	Region   string   `json:"region,omitempty"` // "" is Bottom
	All      []string `json:"all,omitempty"`    // every one stands there,
	Any      []string `json:"any,omitempty"`    // and one of these, unless it is empty,
	Not      []string `json:"not,omitempty"`    // and none of these
	Priority int      `json:"priority,omitempty"`
	// Moves: the texts belong to something that is painted all the time, such as
	// a spinner. Where nothing moves they are a quotation, and the rule does not
	// hold.
	Moves bool `json:"moves,omitempty"`
	// Settle is how long, in ms, an idle rule waits for a pause in the output (0 is
	// the usual time, for a title none), and a blocked rule for its question to
	// come in sight.
	Settle int `json:"settle,omitempty"`
}

// Check completes the defaults and reports what makes the rule useless.
func (r *Status) Check() error {
	r.Region = cmp.Or(r.Region, Bottom)
	if r.State == "blocked" {
		r.Kind = cmp.Or(r.Kind, "question")
	}
	has := func(list []string, s string) bool { return slices.Contains(list, s) }
	switch {
	case r.Name == "":
		return fmt.Errorf("status rule without a name")
	case !has(States, r.State):
		return fmt.Errorf("status rule %q: state is %q; a screen can tell %s", r.Name, r.State, strings.Join(States, ", "))
	case r.State != "blocked" && r.Kind != "":
		return fmt.Errorf("status rule %q: kind is for blocked alone", r.Name)
	case r.Kind != "" && !has(kinds, r.Kind):
		return fmt.Errorf("status rule %q: kind is %q; valid: %s", r.Name, r.Kind, strings.Join(kinds, ", "))
	case !has(Regions, r.Region):
		return fmt.Errorf("status rule %q: region is %q; valid: %s", r.Name, r.Region, strings.Join(Regions, ", "))
	case len(r.All)+len(r.Any) == 0:
		return fmt.Errorf("status rule %q: it needs texts in all or any", r.Name)
	case r.Settle < 0:
		return fmt.Errorf("status rule %q: settle is negative", r.Name)
	case has(r.All, "") || has(r.Any, "") || has(r.Not, ""):
		return fmt.Errorf("status rule %q: a text is empty", r.Name)
	}
	return nil
}

// View is what status rules look at.
type View struct {
	Screen string // the text, without scrollback
	Line   string // the cursor's
	Title  string
	// Composer is the row of the screen that the agent's composer begins with; 0:
	// not known.
	Composer int
	// Status lets the line above the composer be part of Bottom: there agents
	// say that they work. A conversation may end with the same words.
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

// tail is the end of the screen from the nth-last row with text on.
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

// Match reports whether the rule holds, and why: the line with the text that
// made it hold, or what is in its way.
func (r *Status) Match(v View) (ok bool, why string) {
	text := v.region(r.Region)
	where := "in the region " + cmp.Or(r.Region, Bottom)
	for _, s := range r.Not {
		if strings.Contains(text, s) {
			return false, fmt.Sprintf("%q stands %s", s, where)
		}
	}
	for _, s := range r.All {
		if !strings.Contains(text, s) {
			return false, fmt.Sprintf("%q does not stand %s", s, where)
		}
		why = s
	}
	if i := slices.IndexFunc(r.Any, func(s string) bool { return strings.Contains(text, s) }); i >= 0 {
		why = r.Any[i]
	} else if len(r.Any) > 0 {
		return false, fmt.Sprintf("none of %q stands %s", r.Any, where)
	}
	first, _, _ := strings.Cut(why, "\n")
	for line := range strings.Lines(text) {
		if strings.Contains(line, first) {
			return true, cleanLine(strings.TrimRight(line, "\n"))
		}
	}
	return true, first
}

// FindStatus returns the rule of the highest priority that holds, of equal ones
// the first, with the line that it found. Without one the text says of every
// rule why it does not hold.
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
