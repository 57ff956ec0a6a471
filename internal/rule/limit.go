package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Limit is a rule that detects a message by which a program says that its provider limits it.
type Limit struct {
	Name string `json:"name"`
	// Any: the message begins with one of these texts, or in the region Footer contains one.
	Any []string `json:"any"`
	// Until: the words before the time at which the limit ends; none: the usual ones.
	Until  []string `json:"until,omitempty"`
	Region string   `json:"region,omitempty"` // "" is Talk
}

// Talk is the default region of a limit rule: what the program said last, between the last
// message of its user and the composer.
const Talk = "talk"

// LimitRegions lists the regions of limit rules.
var LimitRegions = []string{Talk, Footer}

// usualUntil are the words before the end of a limit, in dialogs and by default.
var usualUntil = []string{"resets", "reset", "try again", "available again", "available", "retry", "wait until", "until"}

// Check reports what makes the rule useless.
func (r *Limit) Check() error {
	switch {
	case r.Name == "":
		return fmt.Errorf("limit rule without a name")
	case len(r.Any) == 0 || slices.Contains(r.Any, "") || slices.Contains(r.Until, ""):
		return fmt.Errorf("limit rule %q: requires texts in any, and none is empty", r.Name)
	case r.Region != "" && !slices.Contains(LimitRegions, r.Region):
		return fmt.Errorf("limit rule %q: region is %q; valid: %s", r.Name, r.Region, strings.Join(LimitRegions, ", "))
	}
	return nil
}

// Rows of a message that are looked at, and those that a long one goes on for.
const (
	limitRows  = 12
	limitRest  = 4
	limitWidth = 400 // characters of the message that are kept
)

// FindLimit returns the first rule that holds, and the message in one line. ready begins a
// message of the user; "" if it is unknown.
func FindLimit(v View, ready string, rules []Limit) (found *Limit, text string) {
	for i := range rules {
		r := &rules[i]
		if r.Region == Footer {
			line := cleanLine(v.tail(1))
			if slices.ContainsFunc(r.Any, func(s string) bool { return strings.Contains(line, s) }) {
				return r, clipTo(line, limitWidth)
			}
			continue
		}
		lines := v.talk(ready)
		for at, line := range lines {
			line = undecorated(line)
			if slices.ContainsFunc(r.Any, func(s string) bool { return strings.HasPrefix(line, s) }) {
				rest := lines[at+1 : min(at+limitRest, len(lines))]
				for _, more := range rest {
					if undecorated(more) != more { // another message
						break
					}
					line += " " + more
				}
				return r, clipTo(line, limitWidth)
			}
		}
	}
	return nil, ""
}

// talk returns the lines with text that the program wrote since the last message of its user,
// above the composer.
func (v View) talk(ready string) []string {
	lines := strings.Split(v.Screen, "\n")
	if v.Composer > 0 && v.Composer < len(lines) {
		lines = lines[:v.Composer]
	}
	var out []string
	for i := len(lines) - 1; i >= 0 && len(out) < limitRows; i-- {
		line := cleanLine(lines[i])
		if ready != "" && v.Composer > 0 && IsPrompt(lines[i], ready) {
			break
		}
		if line != "" {
			out = append(out, line)
		}
	}
	slices.Reverse(out)
	return out
}

// undecorated is a line without the signs in front of it.
func undecorated(line string) string {
	return strings.TrimLeftFunc(line, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '['
	})
}

// clipTo is the beginning of a text.
func clipTo(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
