package status

import (
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/vt"
)

// quietReady is how long a ready prefix must be shown without output: agents
// show it while they work, too.
const quietReady = 1500 * time.Millisecond

// holdDialog is how long a question may vanish while it is being repainted.
const holdDialog = 150 * time.Millisecond

// sameTime is the distance at which two sources are about the same moment:
// within it the stronger one wins, beyond it the later one.
const sameTime = time.Second

// reportsWithin is how long a program known to report its status may take until
// its first report. Until then its prompt proves nothing: one agent shows it
// ten seconds before it reads.
const reportsWithin = 30 * time.Second

// spinTime is the maximum age of the last output for a spinner in the title to
// count: one that does not move is stale.
const spinTime = 3 * time.Second

// Facts are the detector's inputs besides the terminal.
type Facts struct {
	Ready      string        // the ready prefix; "": none
	Dialogs    []rule.Dialog // the known ones
	Reports    bool          // the program is known to report its status
	Rules      []rule.Status // configured for this agent
	Limits     []rule.Limit
	Zone       *time.Location // of times on the screen; nil: time.Local
	Started    time.Time
	LastOutput time.Time // zero: none yet
	LastInput  time.Time // zero: none yet
	// Opening is what the program takes up at its start; nil: nothing.
	Opening *Opening
	// Leader and Foreground are the names of the session's leader and of the
	// program in the terminal's foreground ("bash"); "": unknown.
	Leader, Foreground string
	// AgentGone reports whether the agent that called a hook has ended; nil if unknown.
	AgentGone func(Process) bool
	Ended     string // how the program ended; "" while it runs
	EndedAt   time.Time
}

// Opening is what a program takes up at its start, such as a message on its command line
// or a conversation that it resumes.
type Opening struct {
	Name  string
	Shown func() bool // whether it is on the screen, outside the composer
}

// Detector determines what the program on one terminal is doing. The zero value
// is ready. It is not safe for concurrent use.
type Detector struct {
	// Group returns the foreground process group; it is called when a different
	// program reports its status. nil, or a result of 0: unknown.
	Group func() int

	// Nonce, unless empty, is in every report of the program (key "nonce"). Then only
	// such reports are evidence; nothing else that it writes is.
	Nonce string

	s signals

	hasDisplay bool
	revision   uint64 // of the screen last read
	display    display

	// asksSince is when a status rule first reported a question that is not in
	// sight.
	asksSince    time.Time
	titleIdle    time.Time // when the title began to say idle; zero: it does not
	titleChanged time.Time // when the title changed last
	questionSeen time.Time // when a question was on the screen last
	firstTaken   bool      // the opening has been taken up, or is given up
	firstIdle    time.Time // when the wait for it began although the program looks idle
	previous     Finding   // the last answer, for Since
	asked        *Pending
	askedSince   time.Time
	missingSince time.Time // when the last answer's question went out of sight; zero: it is visible
	holding      bool      // it is still in force
	unsaved      bool      // Detect changed what Save returns
}

// display is the content of the screen.
type display struct {
	found     rule.Found
	open      bool // found is a menu, or a question on the cursor's line
	hint      bool // a line explains a menu's keys
	pending   Pending
	ready     string      // the line with the ready prefix; "": none
	rule      match       // of all rules
	still     match       // of rules that need no movement
	limit     *rule.Limit // the rule of a message about a limit; nil: there is none
	limitText string
	// ruleLine is the line of the rule last believed.
	ruleLine string
}

// match is the status rule that holds on a screen (nil for none), and why: the
// line it found, or what prevents every rule.
type match struct {
	rule  *rule.Status
	why   string
	moves bool // it holds only while the screen changes
}

// Event applies an event of the terminal. changed means that Save's result has
// changed.
func (d *Detector) Event(e vt.Event, now time.Time) (changed bool) {
	if e.Kind == vt.EventTitle {
		d.titleChanged = now
		return false
	}
	if d.Nonce != "" {
		return d.s.trusted(e, d.Nonce, now)
	}
	group := d.Group
	if group == nil {
		group = func() int { return 0 }
	}
	return d.s.apply(e, now, group)
}

// Marked reports whether prompt marks were seen: then Facts needs Leader and
// Foreground.
func (d *Detector) Marked() bool { return d.s.Shell != "" }

// See records that a person has seen the screen: earlier results are no longer
// news. changed means that Save's result has changed.
func (d *Detector) See(now time.Time) (changed bool) {
	isNews := func(r record) bool { return (r.State == Done || r.News) && r.Since.After(d.s.Seen) }
	if !slices.ContainsFunc(d.s.Records, isNews) && !isNews(d.s.Told.record) && (d.previous.State != Done || !d.previous.Since.After(d.s.Seen)) {
		return false
	}
	d.s.Seen = now
	return true
}

// AskedSince returns when Detect first saw the question that it returned last.
func (d *Detector) AskedSince() time.Time { return d.askedSince }

// Unsaved reports whether Detect has changed Save's result since the last Save.
func (d *Detector) Unsaved() bool { return d.unsaved }

// Save returns the state that the screen does not show, for Load.
func (d *Detector) Save() ([]byte, error) {
	d.unsaved = false
	return d.s.save()
}

// Load restores what Save returned, in another process.
func (d *Detector) Load(b []byte) error { return d.s.load(b) }

// Detect returns what the program is doing at time now. again is when the
// answer may change without any output; zero: never.
func (d *Detector) Detect(t *vt.Terminal, f Facts, now time.Time) (a Activity, again time.Time) {
	if f.Ended != "" {
		return d.ended(f), time.Time{}
	}
	if d.Nonce != "" {
		return d.trusted(now), time.Time{}
	}
	d.readScreen(t, f)
	soon := func(at time.Time) {
		if at.After(now) && (again.IsZero() || at.Before(again)) {
			again = at
		}
	}
	seen := d.screen(f, now, soon)
	all := []Finding{
		d.dialog(f), d.report(now, soon), d.told(f, seen, now, soon), d.progress(), d.prompt(f, now, soon),
		title(t.Title(), f, now, soon), seen, d.ready(f, now, soon), d.command(f),
	}
	best, limit := d.limited(d.hold(d.first(strongest(all, seen), f, now, soon), now, soon), f, now, soon)
	if best.Since.IsZero() { // sources without a time of their own
		best.Since = latest(f.Started, f.LastOutput)
		if best.State == d.previous.State && best.Source == d.previous.Source {
			best.Since = d.previous.Since
		}
	}
	if best.State == Done && !best.Since.After(d.s.Seen) {
		best.State, best.Evidence = Idle, best.Evidence+" (seen)"
	}
	d.previous = best
	pending := d.asked
	if !d.holding {
		pending = nil
		if best.State == Blocked && best.Source != FromLimit {
			pending = d.pending(best)
		}
	}
	if pending != nil && (d.asked == nil || d.asked.ID != pending.ID) {
		d.askedSince = now
	}
	d.asked = pending
	return Activity{
		State: best.State, Kind: best.Kind, Source: best.Source, Evidence: best.Evidence, Since: best.Since,
		Pending: pending, Message: d.message(best.State), Limit: limit, Background: d.s.background(), Sources: all,
	}, again
}

// strongest returns the finding that counts. all begins with those of the question, the
// program's report, the hooks, the progress and the prompt; seen is that of the screen.
func strongest(all []Finding, seen Finding) Finding {
	question, exact, prompt := all[0], all[1], all[4]
	if told := all[2]; exact.State == "" || told.State != "" && overtakes(told, exact) {
		exact = told
	}
	best := Finding{State: Unknown, Evidence: "no evidence of its state"}
	if i := slices.IndexFunc(all, func(x Finding) bool { return x.State != "" }); i >= 0 {
		best = all[i]
	}
	if best.Source == FromReport {
		best = exact // the newest one
	}
	if seen.State == Blocked && best.Source != FromDialog && !best.Since.After(seen.Since) {
		best = seen // a visible blocker overrides an older claim
	}
	if best.Source == FromDialog && exact.State != "" && exact.State != Blocked && exact.Since.After(question.Since.Add(sameTime)) {
		best = exact // a claim made long after the question appeared
	}
	if prompt.State != "" && best.Source == exact.Source && prompt.Since.After(best.Since.Add(sameTime)) {
		best = prompt // a shell's prompt that appeared after an old claim
	}
	return best
}

// overtakes reports whether a hook counts instead of the program's report: that is old, and
// of no turn that goes on. An agent calls its hook of the end before the turn has ended.
func overtakes(told, report Finding) bool {
	underWay := report.State == Working || report.State == Blocked
	return !underWay && told.State != report.State && told.Since.After(report.Since.Add(sameTime))
}

// message is the last message of an agent whose turn has ended, if a hook had it.
func (d *Detector) message(state string) string {
	if r := &d.s.Told; r.Msg != "" && (state == Done || state == Idle) && (r.State == Done || r.News) {
		return r.Msg
	}
	return ""
}

// hold keeps a question in force for a moment when it vanishes and nothing
// replaces it: the screen is being repainted.
func (d *Detector) hold(best Finding, now time.Time, soon func(time.Time)) Finding {
	d.holding = false
	if best.State != Unknown || d.previous.State != Blocked || d.previous.Source != FromDialog {
		d.missingSince = time.Time{}
		return best
	}
	if d.missingSince.IsZero() {
		d.missingSince = now
	}
	until := d.missingSince.Add(holdDialog)
	if !now.Before(until) {
		return best
	}
	soon(until)
	d.holding = true
	return d.previous
}

// ended is the answer after the end: the last report is kept if it was a
// result.
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

// readScreen reads the screen if it has changed.
func (d *Detector) readScreen(t *vt.Terminal, f Facts) {
	if d.hasDisplay && d.revision == t.Revision() {
		return
	}
	d.hasDisplay, d.revision, d.display = true, t.Revision(), display{}
	view := DialogViewOf(t, f.Ready)
	screen, cursor := strings.Join(view.Lines, "\n"), t.Cursor()
	found, open := view.Find(f.Dialogs)
	l := &d.display
	l.found, l.hint = found, open && len(found.Options) == 0
	if open && len(found.Options) > 0 {
		l.open, l.pending = true, menuPending(view, found)
	} else if line := t.Line(cursor.Row); asksYesNo(line) {
		l.open, l.pending = true, linePending(line)
	}
	at := -1
	if f.Ready != "" {
		if at = readyLine(t, screen, cursor, f.Ready, found); at >= 0 {
			l.ready = strings.TrimSpace(view.Lines[at])
		}
	}
	v := rule.View{Screen: screen, Line: t.Line(cursor.Row), Title: t.Title(), Composer: view.Composer(at)}
	d.rules(v, f)
	if len(f.Limits) > 0 {
		l.limit, l.limitText = rule.FindLimit(v, f.Ready, f.Limits)
	}
}

// rules finds the status rules that hold. A rule about work may also match the
// line above the composer, while that moves.
func (d *Detector) rules(v rule.View, f Facts) {
	find := func(v rule.View, fits func(r rule.Status) bool) (h match) {
		h.rule, h.why = rule.FindStatus(v, slices.DeleteFunc(slices.Clone(f.Rules), func(r rule.Status) bool { return !fits(r) }))
		return h
	}
	l := &d.display
	l.rule = find(v, func(rule.Status) bool { return true })
	l.rule.moves = l.rule.rule != nil && l.rule.rule.Moves
	if l.still = l.rule; l.rule.moves {
		l.still = find(v, func(r rule.Status) bool { return !r.Moves })
	}
	v.Status = true
	above := find(v, func(r rule.Status) bool { return r.State == Working })
	above.moves = true
	if r := above.rule; r != nil && (l.rule.rule == nil || r.Priority > l.rule.rule.Priority || l.rule.rule.State != Working && r.Priority == l.rule.rule.Priority) {
		l.rule = above
	}
}

// readyLine returns the row of the ready prefix: the cursor's, or, for a
// program that hides the cursor and paints its own, one of the last; -1 if
// there is none.
func readyLine(t *vt.Terminal, screen string, c vt.Cursor, prefix string, found rule.Found) int {
	isOption := func(row int) bool {
		return slices.ContainsFunc(found.Options, func(o rule.Option) bool { return o.Row == row })
	}
	if rule.IsPrompt(t.Line(c.Row), prefix) && !isOption(c.Row) {
		return c.Row
	}
	if c.Visible {
		return -1
	}
	lines := strings.Split(screen, "\n")
	text := 0
	for i := len(lines) - 1; i >= 0 && text < composerRows; i-- {
		if rule.IsPrompt(lines[i], prefix) && !isOption(i) {
			return i
		}
		if strings.TrimSpace(lines[i]) != "" {
			text++
		}
	}
	return -1
}

// composerRows is the maximum number of rows with text of a composer at the
// bottom of the screen, including what is below it.
const composerRows = 8
