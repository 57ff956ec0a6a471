package process

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Tag marks a message about an event, for people and agents, and to find it
// after a crash.
func Tag(eventID string) string { return "[gc:evt " + eventID + "]" }

// Bounds of a message, in characters.
const (
	messageTail    = 1200 // of the output of one command
	messageTails   = 300  // of each of several
	messageCommand = 120
)

// Message reports ended commands to their owner, oldest first. The tags come
// last: a message that is cut short has none.
func Message(events []Event) string {
	tail := messageTail
	if len(events) > 1 {
		tail = messageTails
	}
	parts := make([]string, 0, len(events))
	for i := range events {
		parts = append(parts, paragraph(&events[i], tail))
	}
	tags := make([]string, 0, len(events))
	for i := range events {
		tags = append(tags, Tag(events[i].ID))
	}
	return strings.Join(append(parts, strings.Join(tags, " ")), "\n")
}

func paragraph(e *Event, tail int) string {
	var b strings.Builder
	what := oneLine(e.Command)
	if e.Label != "" {
		what = oneLine(e.Label) + ": " + what
	}
	fmt.Fprintf(&b, "Background command %s: %s", outcome(e), head(what, messageCommand))
	fmt.Fprintf(&b, " (%s)", Took(time.Duration(e.Duration)))
	if t := strings.TrimSpace(e.Tail); t != "" {
		fmt.Fprintf(&b, "\n%s", TailOf(t, tail))
	}
	return b.String()
}

func outcome(e *Event) string {
	switch e.Type {
	case EventFinished:
		return "finished"
	case EventTimedOut:
		return "timed out"
	case EventLost:
		return "lost (how it ended is unknown)"
	case EventKilled:
		return "was killed"
	}
	if e.Signal != "" {
		return "failed by " + e.Signal
	}
	return fmt.Sprintf("failed with status %d", e.ExitCode)
}

// Took formats a duration for a person: 0.2s, 12s, 3m05s, 2h10m.
func Took(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func head(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// TailOf returns the end of s, at most n characters, from the beginning of a
// line if one is near.
func TailOf(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	cut := string(r[len(r)-n+1:])
	if i := strings.IndexByte(cut, '\n'); i >= 0 && i < len(cut)/2 {
		cut = cut[i+1:]
	}
	return "…" + cut
}
