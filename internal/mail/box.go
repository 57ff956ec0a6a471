package mail

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/delivery"
)

// Box is what an agent has been told: one notice about all its unread letters, typed
// once. Fields are only ever added.
type Box struct {
	Agent   string `json:"agent"`
	Told    string `json:"told,omitempty"`    // it was told about letters up to this id
	Through string `json:"through,omitempty"` // the notice under way is about letters up to this id
	delivery.Progress
}

// policy holds the times of notices. A letter waits for its agent for any time.
var policy = delivery.Policy{Lease: 2 * time.Minute, FirstPause: 5 * time.Second, MaxPause: 5 * time.Minute}

// NewBox returns the box of an agent that has not been told anything.
func NewBox(agent string) Box {
	return Box{Agent: agent, Progress: delivery.Progress{State: delivery.Pending}}
}

// Claimed reports whether a notice may have been typed whose fate is unknown.
func (b *Box) Claimed() bool { return b.State == delivery.Injecting }

// Due reports whether a notice may be typed now; next is when to ask again, zero if
// only a change helps.
func (b *Box) Due(now time.Time) (due bool, next time.Time) {
	if b.Progress.Due(policy, now) {
		return true, time.Time{}
	}
	return false, b.Next
}

// Claim begins a notice about news, under a name that occurs nowhere else. The box
// must be on disk before the first byte is typed.
func (b *Box) Claim(now time.Time, news []Letter, batch string) error {
	if err := b.Acquire(policy, now); err != nil {
		return err
	}
	b.Through = news[len(news)-1].ID
	return b.Inject(batch, "", now)
}

// Settle applies the outcome of a notice: delivered, dead (it may have been typed, and
// is not typed again), or pending (it was not, and is tried again).
func (b *Box) Settle(now time.Time, state delivery.State, detail string) error {
	if state == delivery.Pending {
		b.Through = ""
		return b.Retry(policy, now, detail)
	}
	if !b.Claimed() {
		return b.Deliver(now, detail) // its error
	}
	b.Told, b.Through = b.Through, ""
	b.Progress = delivery.Progress{State: delivery.Pending, Updated: now, Detail: detail}
	return nil
}

// Tag identifies a notice on a screen.
func Tag(batch string) string { return "[gc:mail " + batch + "]" }

// maxSenders is how many senders a notice names.
const maxSenders = 3

// Notice is the line that is typed to an agent. It contains no text of a letter:
// those are from other agents.
func Notice(news []Letter, batch string) string {
	first, last := ShortID(news[0].ID), ShortID(news[len(news)-1].ID)
	what := "1 new letter, " + first
	if len(news) > 1 {
		what = fmt.Sprintf("%d new letters, %s to %s", len(news), first, last)
	}
	var from []string
	for _, l := range news {
		if !slices.Contains(from, l.From) {
			from = append(from, l.From)
		}
	}
	if more := len(from) - maxSenders; more > 0 {
		from = append(from[:maxSenders], fmt.Sprintf("%d others", more))
	}
	return fmt.Sprintf("You have mail: %s, from %s. gc mail read shows it, gc mail ack marks it as done. %s", what, strings.Join(from, ", "), Tag(batch))
}

// ShortID is an id as people write it.
func ShortID(id string) string {
	if short := strings.TrimLeft(id, "0"); short != "" {
		return short
	}
	return "0"
}
