package status

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/vt"
)

// quietReady is how long a ready prefix must stand without output: agents show
// it while they work, too.
const quietReady = 1500 * time.Millisecond

// reportsWithin is how long a program that is known to report its status may
// take until its first word. Until then its prompt proves nothing: one agent
// shows it ten seconds before it reads.
const reportsWithin = 30 * time.Second

// spinTime is how old the last output may be for a spinner in the title to
// count: one that stands still belongs to nobody.
const spinTime = 3 * time.Second

// Facts are what the detector is told of a session besides its terminal.
type Facts struct {
	Ready      string        // the ready prefix; "": none
	Dialogs    []rule.Dialog // known ones
	Reports    bool          // the program is known to report its status
	Rules      []rule.Status // of config, for this agent
	Started    time.Time
	LastOutput time.Time // zero: none yet
	Ended      string    // how the program ended; "" while it runs
	EndedAt    time.Time
}

// Detector says what the program on one terminal is doing. The zero value is
// ready. It is not safe for concurrent use.
type Detector struct {
	s signals

	looked   bool
	revision uint64 // of the screen that look saw
	look     look

	was Finding // the last answer, for Since
}

// look is what the screen showed.
type look struct {
	found   rule.Found
	open    bool // found is a menu, or a question on the cursor's line
	hint    bool // a line explains a menu's keys
	pending Pending
	ready   string // the line with the ready prefix; "": none
	rule    held   // of all rules
	still   held   // of those that need no movement
	// ruleLine is the line that the rule found that was believed last.
	ruleLine string
}

// held is the status rule that holds on a screen, nil for none, and why: the
// line it found, or what is in the way of every rule.
type held struct {
	rule *rule.Status
	why  string
}

// Event takes over what the program told its terminal. changed: Save has
// something new.
func (d *Detector) Event(e vt.Event, now time.Time) (changed bool) { return d.s.apply(e, now) }

// See notes that a person has seen what the program shows: what it has done by
// now is no news any more. changed: Save has something new.
func (d *Detector) See(now time.Time) (changed bool) {
	isNews := func(r record) bool { return (r.State == Done || r.News) && r.Since.After(d.s.Seen) }
	if !slices.ContainsFunc(d.s.Records, isNews) && (d.was.State != Done || !d.was.Since.After(d.s.Seen)) {
		return false
	}
	d.s.Seen = now
	return true
}

// Save returns what cannot be seen on the screen, for Load.
func (d *Detector) Save() ([]byte, error) { return d.s.save() }

// Load takes over what Save returned, in another process.
func (d *Detector) Load(b []byte) error { return d.s.load(b) }

// Detect says what the program is doing now. again is when the answer may
// become another one without any output; zero: never.
func (d *Detector) Detect(t *vt.Terminal, f Facts, now time.Time) (a Activity, again time.Time) {
	if f.Ended != "" {
		return d.ended(f), time.Time{}
	}
	d.see(t, f)
	soon := func(at time.Time) {
		if at.After(now) && (again.IsZero() || at.Before(again)) {
			again = at
		}
	}
	all := []Finding{
		d.dialog(f), d.report(now, soon), d.progress(), d.prompt(now, soon),
		title(t.Title(), f, now, soon), d.screen(f, now, soon), d.ready(f, now, soon), d.command(),
	}
	best := Finding{State: Unknown, Evidence: "nothing says what it is doing"}
	for _, x := range all {
		if x.State != "" {
			best = x
			break
		}
	}
	if seen := all[5]; seen.State == Blocked && best.Source != FromDialog && !best.Since.After(seen.Since) {
		best = seen // a blocker in sight overrides an older claim
	}
	if best.Source == FromDialog && all[1].State != "" && all[1].State != Blocked && all[1].Since.After(best.Since) {
		best = all[1] // a claim made after the question was seen
	}
	if best.Since.IsZero() { // sources without a time of their own
		best.Since = latest(f.Started, f.LastOutput)
		if best.State == d.was.State && best.Source == d.was.Source {
			best.Since = d.was.Since
		}
	}
	if best.State == Done && !best.Since.After(d.s.Seen) {
		best.State, best.Evidence = Idle, best.Evidence+" (seen)"
	}
	d.was = best
	a = Activity{State: best.State, Kind: best.Kind, Source: best.Source, Evidence: best.Evidence, Since: best.Since, Sources: all}
	if best.State == Blocked {
		a.Pending = d.pending(best)
	}
	return a, again
}

// ended is the answer after the end: what the program said last is kept where
// it was a result.
func (d *Detector) ended(f Facts) Activity {
	d.s.drop(isUnderWay)
	return Activity{State: Exited, Source: FromProcess, Evidence: f.Ended, Since: f.EndedAt,
		Sources: []Finding{{Source: FromProcess, State: Exited, Evidence: f.Ended, Since: f.EndedAt}}}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// see reads the screen, when it is another one than last time.
func (d *Detector) see(t *vt.Terminal, f Facts) {
	if d.looked && d.revision == t.Revision() {
		return
	}
	d.looked, d.revision, d.look = true, t.Revision(), look{}
	screen := t.ScreenText()
	cursor := t.Cursor()
	found, open := rule.Find(screen, f.Dialogs)
	l := &d.look
	l.found, l.hint = found, open && len(found.Options) == 0
	if open && len(found.Options) > 0 {
		l.open, l.pending = true, menuPending(screen, found)
	} else if line := t.Line(cursor.Row); asksYesNo(line) {
		l.open, l.pending = true, linePending(line)
	}
	if f.Ready != "" {
		l.ready = readyLine(t, screen, cursor, f.Ready, found)
	}
	view := rule.View{Screen: screen, Line: t.Line(cursor.Row), Title: t.Title()}
	l.rule.rule, l.rule.why = rule.FindStatus(view, f.Rules)
	if l.still = l.rule; l.rule.rule != nil && l.rule.rule.Moves {
		l.still.rule, l.still.why = rule.FindStatus(view, slices.DeleteFunc(slices.Clone(f.Rules), func(r rule.Status) bool { return r.Moves }))
	}
}

// readyLine is the line that the ready prefix stands on: the cursor's, or, for
// a program that hides the cursor and paints its own, one of the last.
func readyLine(t *vt.Terminal, screen string, c vt.Cursor, prefix string, found rule.Found) string {
	isOption := func(row int) bool {
		return slices.ContainsFunc(found.Options, func(o rule.Option) bool { return o.Row == row })
	}
	if line := t.Line(c.Row); rule.IsPrompt(line, prefix) && !isOption(c.Row) {
		return strings.TrimSpace(line)
	}
	if c.Visible {
		return ""
	}
	lines := strings.Split(screen, "\n")
	text := 0
	for i := len(lines) - 1; i >= 0 && text < composerRows; i-- {
		if rule.IsPrompt(lines[i], prefix) && !isOption(i) {
			return strings.TrimSpace(lines[i])
		}
		if strings.TrimSpace(lines[i]) != "" {
			text++
		}
	}
	return ""
}

// composerRows is how many rows with text a composer at the bottom of the
// screen may take, with what stands below it.
const composerRows = 8

func (d *Detector) dialog(f Facts) Finding {
	x := Finding{Source: FromDialog, Evidence: "no question stands on the screen"}
	if d.look.hint {
		x.Evidence = fmt.Sprintf("a line may explain the keys of a menu: %q", d.look.found.Question)
	}
	if !d.look.open {
		return x
	}
	p := d.look.pending
	x.State, x.Kind, x.Since = Blocked, p.Kind, latest(f.Started, f.LastOutput)
	x.Evidence = fmt.Sprintf("%q", p.Prompt)
	if p.Dialog != "" {
		x.Evidence = p.Dialog + ": " + x.Evidence
	}
	if d.was.State == Blocked && d.was.Source == FromDialog && d.was.Evidence == x.Evidence {
		x.Since = d.was.Since
	}
	if r, ok := d.s.reported(); ok && r.State == Blocked && r.Kind != "" {
		x.Kind = r.Kind
	}
	return x
}

// report is the program's own word (OSC 7501).
func (d *Detector) report(now time.Time, soon func(time.Time)) Finding {
	r, ok := d.s.reported()
	if !ok {
		return Finding{Source: FromReport, Evidence: "the program does not report its status"}
	}
	x := Finding{Source: FromReport, State: r.State, Kind: r.Kind, Since: r.Since, Evidence: "state=" + r.State}
	progress := ""
	if r.Progress != nil {
		progress = fmt.Sprintf("%d%%", *r.Progress)
	}
	for _, part := range [][2]string{{"id", r.ID}, {"kind", r.Kind}, {"progress", progress}, {"app", d.s.app(r)}, {"msg", r.Msg}} {
		if part[1] != "" {
			x.Evidence += " " + part[0] + "=" + part[1]
		}
	}
	if r.State == Blocked && x.Kind == "" {
		x.Kind = Question
	}
	if r.News {
		x.State, x.Evidence = Done, x.Evidence+" (it was done before)"
	}
	if until := r.Since.Add(holdIdle); r.Held && now.Before(until) {
		soon(until)
		x.State, x.Evidence = Working, x.Evidence+" (it was working a moment ago)"
	}
	return x
}

func (d *Detector) progress() Finding {
	if !d.s.Busy {
		return Finding{Source: FromProgress, Evidence: "no progress is shown"}
	}
	return Finding{Source: FromProgress, State: Working, Since: d.s.BusySince, Evidence: fmt.Sprintf("progress %d %%", d.s.Percent)}
}

// prompt is an open prompt of a shell.
func (d *Detector) prompt(now time.Time, soon func(time.Time)) Finding {
	if d.s.Shell != shellPrompt {
		return Finding{Source: FromPrompt, Evidence: "no shell says that its prompt is open"}
	}
	x := Finding{Source: FromPrompt, State: Idle, Since: d.s.ShellSince, Evidence: "a shell's prompt is open"}
	if until := d.s.ShellSince.Add(holdIdle); d.s.ShellHeld && now.Before(until) {
		soon(until)
		x.State, x.Evidence = Working, "a shell's command has just ended"
	}
	return x
}

// command is a command that a shell runs. It is the weakest source: the
// command may be an agent that waits.
func (d *Detector) command() Finding {
	if d.s.Shell != shellCommand {
		return Finding{Source: FromCommand, Evidence: "no shell says that a command runs"}
	}
	return Finding{Source: FromCommand, State: Working, Since: d.s.ShellSince, Evidence: "a shell runs a command"}
}

// title is a spinner in the window title that still turns.
func title(text string, f Facts, now time.Time, soon func(time.Time)) Finding {
	if r, _ := utf8.DecodeRuneInString(text); r <= 0x2800 || r > 0x28ff { // braille patterns
		return Finding{Source: FromTitle, Evidence: "no spinner in the title"}
	}
	until := f.LastOutput.Add(spinTime)
	if now.After(until) {
		return Finding{Source: FromTitle, Evidence: "the spinner in the title stands still"}
	}
	soon(until.Add(time.Millisecond))
	return Finding{Source: FromTitle, State: Working, Evidence: fmt.Sprintf("a spinner in the title %q", text)}
}

// ready is the ready prefix that the session was started with.
func (d *Detector) ready(f Facts, now time.Time, soon func(time.Time)) Finding {
	x := Finding{Source: FromReady}
	last := latest(f.Started, f.LastOutput)
	switch until := last.Add(quietReady); {
	case f.Ready == "":
		x.Evidence = "the session has no ready prefix"
	case d.look.ready == "":
		x.Evidence = fmt.Sprintf("%q does not stand on the cursor's line", f.Ready)
	case d.look.hint:
		x.Evidence = "the prompt stands, but a menu may be open"
	case f.Reports && len(d.s.Records) == 0 && now.Before(f.Started.Add(reportsWithin)):
		soon(f.Started.Add(reportsWithin))
		x.Evidence = "the prompt stands, but the program has not reported its status yet"
	case now.Before(until):
		soon(until)
		x.Evidence = "the prompt stands, but there was output a moment ago"
	default:
		x.State, x.Since, x.Evidence = Idle, until, fmt.Sprintf("the prompt stands: %q", d.look.ready)
	}
	return x
}

// screen is a status rule that holds. Idle is believed after a pause, because
// agents paint their prompt while they work, too; a title is the program's word.
func (d *Detector) screen(f Facts, now time.Time, soon func(time.Time)) Finding {
	x := Finding{Source: FromScreen}
	if len(f.Rules) == 0 {
		x.Evidence = "no status rules are known for this agent"
		return x
	}
	last, h := latest(f.Started, f.LastOutput), d.look.rule
	if r := h.rule; r != nil && r.Moves {
		if until := last.Add(spinTime); now.Before(until) {
			soon(until)
		} else {
			h = d.look.still
		}
	}
	r := h.rule
	if x.Evidence = h.why; r == nil {
		return x
	}
	x.Evidence = fmt.Sprintf("rule %s: %q", r.Name, h.why)
	if until := last.Add(settle(r)); r.State == Idle && now.Before(until) {
		soon(until)
		x.Evidence += ", but there was output a moment ago"
		return x
	}
	d.look.ruleLine = h.why
	x.State, x.Kind, x.Since = r.State, r.Kind, last
	if d.was.Source == FromScreen && d.was.State == x.State && d.was.Kind == x.Kind {
		x.Since = d.was.Since
	}
	return x
}

// settle is the pause that an idle rule needs.
func settle(r *rule.Status) time.Duration {
	switch {
	case r.Region == rule.Title:
		return 0
	case r.Settle > 0:
		return time.Duration(r.Settle) * time.Millisecond
	}
	return quietReady
}
