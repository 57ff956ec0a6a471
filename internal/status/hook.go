package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gascity.dev/gc/internal/rule"
)

// MaxMessage limits the bytes of a Report's message that are kept.
const MaxMessage = maxMsg

// Report is what a program of the session says about its agent, other than on the
// terminal: an agent's hook, or gc report of anybody.
type Report struct {
	State   string // Idle, Working, Blocked, Done, Error, or Clear
	Kind    string // of Blocked; "" is Question
	Message string // for a person; the last message of a turn that is Done
	Hook    string // the hook that the agent called, such as "claude Stop"; "" for anything else
	At      time.Time

	// Order grows with the start of the reporting process. A report that is older than
	// the last one is late.
	Order uint64

	// Agent is the program that called the hook, and Above are the programs of the
	// session that started it, the nearest first.
	Agent Process
	Above []Process
}

// Process identifies a process; zero is none.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// Clear is the state of a Report that withdraws the one before.
const Clear = stateClear

// ReportStates are the states of a Report.
func ReportStates() []string { return slices.Clone(reportStates) }

// ReportKinds are the kinds of a Report.
func ReportKinds() []string { return slices.Clone(reportKinds) }

// told is the last Report that counts.
type told struct {
	record
	Hook    string  `json:"hook,omitempty"`
	Order   uint64  `json:"order,omitempty"`
	Agent   Process `json:"agent,omitzero"`
	Refused string  `json:"refused,omitempty"` // the last one that did not count, and why
}

// Report takes a report, whose state is one of ReportStates, and its kind one of
// ReportKinds or "". why says why it does not count; "" if it does. alive reports whether
// a process still runs.
//
// Only one agent of a session is heard, the first that called a hook: those that it starts
// inherit its hooks.
func (d *Detector) Report(r Report, alive func(Process) bool) (why string) {
	old := &d.s.Told
	owned := r.Hook != "" && old.Agent != Process{} && r.Agent != old.Agent && alive(old.Agent)
	switch {
	case r.Order < old.Order:
		why = "it is late: another one was made after it"
	case owned && slices.Contains(r.Above, old.Agent):
		why = "it is from a program that the agent runs"
	case owned && isUnderWay(old.record):
		why = "it is from another program than the agent that is " + old.State
	}
	if why != "" {
		old.Refused = fmt.Sprintf("%s said %s, which does not count: %s", cmp.Or(r.Hook, "a report"), r.State, why)
		return why
	}
	next := told{
		record: record{State: r.State, Kind: r.Kind, Msg: MessageLine(r.Message), Since: r.At},
		Hook:   r.Hook, Order: r.Order, Agent: r.Agent,
	}
	switch {
	case r.Hook == "":
		next.Agent = old.Agent
	case next.Agent == Process{}:
		next.Agent = old.Agent
	}
	next.follow(&old.record)
	if r.State == stateClear {
		next.record = record{}
	}
	d.s.Told = next
	return ""
}

// follow completes a record that replaces another one.
func (r *record) follow(old *record) {
	r.Held = r.State == Idle && old.State == Working
	if old.State == r.State && old.Kind == r.Kind {
		r.Since, r.Held = old.Since, old.Held
	}
	if r.State == Idle && (old.State == Done || old.News) {
		r.News, r.Since = true, old.Since
	}
}

// MessageLine returns a message as one harmless line of at most MaxMessage bytes.
func MessageLine(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 4*MaxMessage)], "")
	s = visible(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " "))
	for len(s) > MaxMessage {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:min(MaxMessage, len(s)-n)]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return s
}

// told is the last report that did not come over the terminal. seen is what the screen shows.
func (d *Detector) told(f Facts, seen Finding, now time.Time, soon func(time.Time)) Finding {
	r := &d.s.Told
	if r.State == "" {
		return Finding{Source: FromHook, Evidence: strings.TrimPrefix(r.addRefused("no hook has reported"), "; ")}
	}
	x := Finding{Source: FromHook, State: r.State, Kind: r.Kind, Since: r.Since, Evidence: cmp.Or(r.Hook, "gc report") + ": state=" + r.State}
	if r.Kind != "" {
		x.Evidence += " kind=" + r.Kind
	}
	if r.Msg != "" {
		x.Evidence += " msg=" + r.Msg
	}
	x.Evidence = r.addRefused(x.Evidence)
	if r.State == Blocked && x.Kind == "" {
		x.Kind = Question
	}
	if r.News {
		x.State, x.Evidence = Done, x.Evidence+" (it was done)"
	}
	if why := d.doubt(f, seen, now, soon); why != "" {
		x.State, x.Evidence = "", x.Evidence+", but "+why
	}
	if x.State == "" {
		x.Kind = ""
	}
	return x
}

func (r *told) addRefused(evidence string) string {
	if r.Refused == "" {
		return evidence
	}
	return evidence + "; " + r.Refused
}

// questionGone reports whether the question that was reported has been on the screen and
// is not any more: no hook says that it was answered.
func (d *Detector) questionGone(now time.Time) bool {
	if d.s.Told.State != Blocked {
		return false
	}
	if d.display.open {
		d.questionSeen = now
		return false
	}
	return !d.questionSeen.Before(d.s.Told.Since) && now.Sub(d.questionSeen) >= holdDialog
}

// doubt is why the last report does not count now; "" if it does. seen is what the screen
// shows.
func (d *Detector) doubt(f Facts, seen Finding, now time.Time, soon func(time.Time)) string {
	r := &d.s.Told
	if isUnderWay(r.record) {
		switch {
		case f.AgentGone != nil && f.AgentGone(r.Agent):
			return "that agent has ended"
		case d.questionGone(now):
			return "its question is gone"
		case d.titleRests(now, soon):
			return "the title has become idle since"
		}
		return ""
	}
	if r.State != Done && r.State != Idle || r.Hook == "" {
		return ""
	}
	if seen.State == Working { // agents call the hook of the end before the turn has ended
		return "the screen shows that it works"
	}
	if until := latest(f.LastOutput, f.LastInput).Add(quietReady); f.LastInput.After(r.Since) && now.Before(until) {
		soon(until)
		return "something was typed since"
	}
	return ""
}

// titleRests reports whether the title has become idle since the last report: agents call
// no hook when a turn is interrupted.
func (d *Detector) titleRests(now time.Time, soon func(time.Time)) bool {
	says := d.display.rule.rule
	if says == nil || says.Region != rule.Title || says.State != Idle || d.titleIdle.IsZero() || !d.titleChanged.After(d.s.Told.Since) {
		return false
	}
	until := d.titleIdle.Add(min(idlePause(says), turnHold))
	soon(until)
	return !now.Before(until)
}

// toldPending returns the question that was reported.
func (d *Detector) toldPending(x Finding) *Pending {
	r := &d.s.Told
	return &Pending{Kind: x.Kind, Prompt: r.Msg, Selected: -1, ID: fingerprint(x.Source, r.Kind, r.Msg, r.Since.String())}
}
