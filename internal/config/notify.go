package config

import (
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/toml"
)

// Notify is the [notify] table: how a person learns that an agent needs somebody.
type Notify struct {
	Command string        `toml:"command"` // a shell line; the occasions are JSON on its standard input
	Kinds   []string      `toml:"kinds"`   // of gc attention; none: all but done
	Every   time.Duration `toml:"every"`   // the least time between two runs
	Quiet   string        `toml:"quiet"`   // "22:00-07:00": the command runs afterwards
	// Terminal is how gc attach notifies its terminal of other agents.
	Terminal string `toml:"terminal"`
	Where
}

// The values of notify.terminal.
const (
	TerminalOSC9  = "osc9" // a notification by OSC 9 and the bell; the default
	TerminalOSC99 = "osc99"
	TerminalBell  = "bell" // only the bell
	TerminalOff   = "off"
)

// attentionKinds are the kinds of gc attention.
var attentionKinds = []string{
	"question", "login", "limited", "stuck", "error", "crashed", "quarantined", "failing", "lost", "dead-letter", "dead-end", "done",
}

// QuietFor is how long the quiet hours last from now on; 0 outside them. Their times are
// those of now's location.
func (n Notify) QuietFor(now time.Time) time.Duration {
	from, to, err := n.hours()
	if err != nil || n.Quiet == "" {
		return 0
	}
	at := time.Duration(now.Hour())*time.Hour + time.Duration(now.Minute())*time.Minute + time.Duration(now.Second())*time.Second
	switch {
	case from <= to && (at < from || at >= to), from > to && at < from && at >= to:
		return 0
	case at < to:
		return to - at
	}
	return 24*time.Hour - at + to
}

// hours are the begin and the end of the quiet hours, since midnight.
func (n Notify) hours() (from, to time.Duration, err error) {
	begin, end, ok := strings.Cut(n.Quiet, "-")
	if n.Quiet != "" && !ok {
		return 0, 0, fmt.Errorf("want two times")
	}
	for _, t := range []struct {
		text string
		d    *time.Duration
	}{{begin, &from}, {end, &to}} {
		if n.Quiet == "" {
			break
		}
		at, err := time.Parse("15:04", strings.TrimSpace(t.text))
		if err != nil {
			return 0, 0, fmt.Errorf("%q is no time", t.text)
		}
		*t.d = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	return from, to, nil
}

func (c *City) validateNotify(out *toml.Report) {
	n := &c.Notify
	oneOf(out, n.Place("terminal"), "notify.terminal", n.Terminal, TerminalOSC9, TerminalOSC99, TerminalBell, TerminalOff)
	if n.Command == "" && n.Terminal == "" && n.At.Line > 0 {
		out.Add(n.At, `as in command = "notify-send gc"`, "notify.command is missing")
	}
	for _, kind := range n.Kinds {
		oneOf(out, n.Place("kinds"), "notify.kinds", kind, attentionKinds...)
	}
	if n.Every < 0 {
		out.Add(n.Place("every"), `write "10s"`, "notify.every is negative")
	}
	if _, _, err := n.hours(); err != nil {
		out.Add(n.Place("quiet"), `write "22:00-07:00"`, "notify.quiet: %v", err)
	}
}
