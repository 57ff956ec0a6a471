package status

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/rule"
)

// dialog finds a visible question.
func (d *Detector) dialog(f Facts) Finding {
	x := Finding{Source: FromDialog, Evidence: "no question on the screen"}
	if d.display.hint {
		x.Evidence = fmt.Sprintf("a line may explain the keys of a menu: %q", d.display.found.Question)
	}
	if !d.display.open {
		return x
	}
	p := d.display.pending
	x.State, x.Kind, x.Since = Blocked, p.Kind, latest(f.Started, f.LastOutput)
	x.Evidence = fmt.Sprintf("%q", p.Prompt)
	if p.Dialog != "" {
		x.Evidence = p.Dialog + ": " + x.Evidence
	}
	if d.previous.State == Blocked && d.previous.Source == FromDialog && d.previous.Evidence == x.Evidence {
		x.Since = d.previous.Since
	}
	r, _ := d.s.reported()
	for _, r := range []record{d.s.Told.record, r} {
		if r.State == Blocked && r.Kind != "" && p.Dialog == "" {
			x.Kind = r.Kind
		}
	}
	return x
}

// report is the program's own report (OSC 7501).
func (d *Detector) report(now time.Time, soon func(time.Time)) Finding {
	r, ok := d.s.reported()
	if !ok {
		return Finding{Source: FromReport, Evidence: "the program has not reported its status"}
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
	if d.s.Refused != "" {
		x.Evidence += "; " + d.s.Refused
	}
	if r.State == Blocked && x.Kind == "" {
		x.Kind = Question
	}
	if r.News {
		x.State, x.Evidence = Done, x.Evidence+" (it was done)"
	}
	if until := r.Since.Add(holdIdle); r.Held && d.Nonce == "" && now.Before(until) {
		soon(until)
		x.State, x.Evidence = Working, x.Evidence+" (it was working a moment ago)"
	}
	return x
}

func (d *Detector) progress() Finding {
	if !d.s.Busy {
		return Finding{Source: FromProgress, Evidence: "no progress is shown"}
	}
	return Finding{Source: FromProgress, State: Working, Since: d.s.BusySince, Evidence: fmt.Sprintf("progress %d%%", d.s.Percent)}
}

// prompt is an open shell prompt.
func (d *Detector) prompt(f Facts, now time.Time, soon func(time.Time)) Finding {
	if d.s.Shell != shellPrompt {
		return Finding{Source: FromPrompt, Evidence: "no shell prompt is marked as open"}
	}
	if f.Foreground != "" && !IsShell(f.Foreground) {
		return Finding{Source: FromPrompt, Evidence: fmt.Sprintf("a prompt is marked, but %q in the foreground is not a shell", f.Foreground)}
	}
	x := Finding{Source: FromPrompt, State: Idle, Since: d.s.ShellSince, Evidence: "a shell's prompt is open"}
	if until := d.s.ShellSince.Add(holdIdle); d.s.ShellHeld && now.Before(until) {
		soon(until)
		x.State, x.Evidence = Working, "a shell's command has just ended"
	}
	return x
}

// command is a command run by a shell. It is the weakest source: the command
// may be a waiting agent.
func (d *Detector) command(f Facts) Finding {
	if d.s.Shell != shellCommand {
		return Finding{Source: FromCommand, Evidence: "no shell command is marked as running"}
	}
	if f.Leader != "" && !IsShell(f.Leader) && !IsShell(f.Foreground) {
		return Finding{Source: FromCommand, Evidence: fmt.Sprintf("a command is marked, but %q is not a shell", f.Leader)}
	}
	return Finding{Source: FromCommand, State: Working, Since: d.s.ShellSince, Evidence: "a shell runs a command"}
}

// title is a moving spinner in the window title.
func title(text string, f Facts, now time.Time, soon func(time.Time)) Finding {
	if r, _ := utf8.DecodeRuneInString(text); r <= 0x2800 || r > 0x28ff { // braille patterns
		return Finding{Source: FromTitle, Evidence: "no spinner in the title"}
	}
	until := f.LastOutput.Add(spinTime)
	if now.After(until) {
		return Finding{Source: FromTitle, Evidence: "the spinner in the title does not move"}
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
	case d.display.ready == "":
		x.Evidence = fmt.Sprintf("%q is not on the cursor's line", f.Ready)
	case d.display.hint:
		x.Evidence = "the prompt is shown, but a menu may be open"
	case f.Reports && len(d.s.Records) == 0 && now.Before(f.Started.Add(reportsWithin)):
		soon(f.Started.Add(reportsWithin))
		x.Evidence = "the prompt is shown, but the program has not reported its status yet"
	case now.Before(until):
		soon(until)
		x.Evidence = "the prompt is shown, but there was output a moment ago"
	default:
		x.State, x.Since, x.Evidence = Idle, until, fmt.Sprintf("the prompt is shown: %q", d.display.ready)
	}
	return x
}

// screen is a status rule that holds. Idle is believed after a pause, because
// agents paint their prompt while they work, too; a title is set by the
// program, but without a composer it may be left from a program that starts or
// ends.
func (d *Detector) screen(f Facts, now time.Time, soon func(time.Time)) Finding {
	x := Finding{Source: FromScreen}
	if len(f.Rules) == 0 {
		x.Evidence = "this agent has no status rules"
		return x
	}
	last, h := latest(f.Started, f.LastOutput), d.display.rule
	if h.moves {
		if until := last.Add(spinTime); now.Before(until) {
			soon(until)
		} else {
			h = d.display.still
		}
	}
	r := h.rule
	if r == nil || r.State != Blocked || d.display.open {
		d.asksSince = time.Time{}
	} else if d.asksSince.IsZero() {
		d.asksSince = now
	}
	if x.Evidence = h.why; r == nil {
		d.titleIdle = time.Time{}
		return x
	}
	x.Evidence = fmt.Sprintf("rule %s: %q", r.Name, h.why)
	if until := d.asksSince.Add(time.Duration(r.Settle)); r.State == Blocked && !d.asksSince.IsZero() && now.Before(until) {
		soon(until)
		x.Evidence += ", but its question is not visible yet"
		return d.stillWorking(x)
	}
	if until := d.idleAfter(r, last, f.LastInput, now); r.State == Idle && now.Before(until) {
		soon(until)
		x.Evidence += ", but there was output a moment ago"
		if r.Region == rule.Title {
			return d.stillWorking(x)
		}
		return x
	}
	if r.State == Idle && r.Region == rule.Title && f.Ready != "" && d.display.ready == "" {
		x.Evidence += fmt.Sprintf(", but %q is not on the cursor's line", f.Ready)
		return x
	}
	d.display.ruleLine = h.why
	x.State, x.Kind, x.Since = r.State, r.Kind, last
	if d.previous.Source == FromScreen && d.previous.State == x.State && d.previous.Kind == x.Kind {
		x.Since = d.previous.Since
	}
	return x
}

// stillWorking is a finding without a state of its own: a program that was working
// still is.
func (d *Detector) stillWorking(x Finding) Finding {
	if d.previous.State == Working {
		x.State, x.Since = Working, d.previous.Since
	}
	return x
}

// turnHold is how long a title that says idle must last after work: agents also
// change it between two steps of a turn.
const turnHold = 150 * time.Millisecond

// idleAfter returns when an idle rule counts. If the title has shown work or
// idleness before, the program reads its input and only the title counts:
// anything painted beside it is not work, unless something was typed.
func (d *Detector) idleAfter(r *rule.Status, last, typed, now time.Time) time.Time {
	if r.State != Idle || r.Region != rule.Title {
		d.titleIdle = time.Time{}
		return last.Add(idlePause(r))
	}
	if d.titleIdle.IsZero() {
		d.titleIdle = now
	}
	switch {
	case d.previous.State == Idle && d.previous.Source == FromScreen && !typed.After(d.previous.Since):
		return time.Time{}
	case d.previous.State == Working || d.previous.State == Blocked:
		return d.titleIdle.Add(min(idlePause(r), turnHold))
	}
	return last.Add(idlePause(r))
}

// idlePause is the pause that an idle rule needs.
func idlePause(r *rule.Status) time.Duration {
	switch {
	case r.Settle > 0:
		return time.Duration(r.Settle)
	case r.Region == rule.Title:
		return 0
	}
	return quietReady
}

// shells mark their prompts; marks from other programs mean something else.
var shells = []string{
	"ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ion", "ksh", "mksh", "murex", "nu", "oksh", "osh", "pwsh", "rbash",
	"rzsh", "sh", "tcsh", "xonsh", "yash", "ysh", "zsh",
}

// IsShell reports whether a program, by the name of its process, is a shell.
func IsShell(program string) bool { return slices.Contains(shells, strings.TrimPrefix(program, "-")) }
