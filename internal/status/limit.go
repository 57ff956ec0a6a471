package status

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"gascity.dev/gc/internal/rule"
)

// Limit is that the program's provider limits it, as the program shows.
type Limit struct {
	Until time.Time `json:"until,omitzero"` // zero: the message names no time, or none that is clear
	Text  string    `json:"text"`           // the message, in one line
}

// seenLimit is a limit whose message was first seen at Seen: "resets 3pm" means the next one
// from then on.
type seenLimit struct {
	Limit
	Seen time.Time `json:"seen"`
}

// limited adds what the program shows of a limit. A program that waits for its end is blocked:
// until a time that the message names or, if it names none, while it reports an error for it.
// Afterwards such an error is over.
func (d *Detector) limited(best Finding, f Facts, now time.Time, soon func(time.Time)) (Finding, *Limit) {
	r, text := d.limitText(best)
	if text == "" {
		if d.s.Limit != nil {
			d.s.Limit, d.unsaved = nil, true
		}
		return best, nil
	}
	if d.s.Limit == nil || letters(d.s.Limit.Text) != letters(text) {
		d.seeLimit(r, text, f)
	}
	l := d.s.Limit
	asks := best.State == Blocked // a dialog, which stays when the limit is over
	switch {
	case l.Until.IsZero() && (asks || best.State != Error):
		return best, &Limit{Text: l.Text}
	case l.Until.IsZero() || now.Before(l.Until):
		soon(l.Until)
		if !asks {
			best = Finding{Source: FromLimit, State: Blocked, Kind: RateLimit, Since: l.Seen, Evidence: fmt.Sprintf("rule %s: %q", r.Name, l.Text)}
		}
		return best, &Limit{Until: l.Until, Text: l.Text}
	case best.State == Error:
		best = Finding{Source: FromLimit, State: Idle, Since: l.Until, Evidence: fmt.Sprintf("the limit is over: %q", l.Text)}
	}
	return best, nil
}

// sameEnd is how far apart two times may be that a message which counts down names for one
// end.
const sameEnd = 2 * time.Minute

// seeLimit notes a message.
func (d *Detector) seeLimit(r *rule.Limit, text string, f Facts) {
	zone := f.Zone
	if zone == nil {
		zone = time.Local
	}
	l := &seenLimit{Limit{Text: text}, latest(f.Started, f.LastOutput)}
	if at, ok := r.Ends(text, l.Seen, zone); ok {
		l.Until = at
	}
	if old := d.s.Limit; old != nil && !l.Until.IsZero() && l.Until.Sub(old.Until).Abs() < sameEnd {
		l.Until, l.Seen = old.Until, old.Seen
	}
	d.s.Limit, d.unsaved = l, true
}

// limitText returns the message of a limit that counts beside the finding, and its rule; nil
// for a dialog.
func (d *Detector) limitText(best Finding) (*rule.Limit, string) {
	l := &d.display
	switch {
	case best.State == Blocked && best.Kind == RateLimit && l.open:
		return nil, oneLine(l.pending.Prompt + " " + l.pending.Context)
	case best.State == Blocked && best.Kind == RateLimit && best.Source == FromScreen:
		return nil, oneLine(l.ruleLine)
	case best.State == Blocked || l.limit == nil:
		return nil, ""
	case best.State == Working && l.limit.Region != rule.Footer: // of a turn before
		return nil, ""
	}
	return l.limit, l.limitText
}

// letters are the letters and digits of a text: a spinner beside it is no other text.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
