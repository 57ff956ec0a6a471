// Package mail is the mail between the agents of a city: letters, who has read
// them, and which of them were announced to each agent.
//
// Its invariant: a letter is announced to an agent once. It does no I/O and has no
// clock: internal/session keeps its records in city.db, and the controller calls
// it to decide and stores what changed.
package mail

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind says what an address names.
type Kind string

// The kinds of addresses.
const (
	Agent Kind = "agent"
	Pool  Kind = "pool" // every member; one that acknowledges a letter settles it for all
	Rig   Kind = "rig"  // every agent of the rig, each for itself
)

// Address is to whom a letter was sent.
type Address struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
}

// Letter is one piece of mail without its text. Fields are only ever added.
type Letter struct {
	ID      string          `json:"id"`  // ids sort in the order of arrival
	Key     string          `json:"key"` // the sender and its id of the letter: a second letter with it is the same one
	From    string          `json:"from"`
	To      Address         `json:"to"`
	Subject string          `json:"subject,omitempty"`
	Size    int             `json:"size"` // of the text, in bytes
	Sent    time.Time       `json:"sent"`
	Marks   map[string]Mark `json:"marks,omitempty"` // by agent
}

// Mark is what one agent did with a letter.
type Mark struct {
	Read  time.Time `json:"read,omitzero"`
	Acked time.Time `json:"acked,omitzero"`
}

// Reader is an agent with the pool and the rig that it belongs to, "" for none.
type Reader struct{ Agent, Pool, Rig string }

// addresses are those whose letters reach the reader.
func (r Reader) addresses() []Address {
	list := []Address{{Agent, r.Agent}}
	if r.Pool != "" {
		list = append(list, Address{Pool, r.Pool})
	}
	if r.Rig != "" {
		list = append(list, Address{Rig, r.Rig})
	}
	return list
}

// Gets reports whether letters to the address reach the reader.
func (r Reader) Gets(to Address) bool {
	for _, a := range r.addresses() {
		if a == to {
			return true
		}
	}
	return false
}

// Settled reports whether an agent has nothing left to do about the letter: it has
// acknowledged it, or a letter to its pool was acknowledged by any member.
func (l *Letter) Settled(agent string) bool {
	if !l.Marks[agent].Acked.IsZero() {
		return true
	}
	return l.To.Kind == Pool && l.Done()
}

// Done reports whether any agent has acknowledged the letter.
func (l *Letter) Done() bool {
	for _, m := range l.Marks {
		if !m.Acked.IsZero() {
			return true
		}
	}
	return false
}

// Unread reports whether the letter is news to the agent.
func (l *Letter) Unread(agent string) bool { return l.Marks[agent].Read.IsZero() && !l.Settled(agent) }

// With returns a copy of the letter with another mark of an agent. Letters are never
// changed in place: a copy may be on its way to the disk.
func (l Letter) With(agent string, m Mark) Letter {
	l.Marks = maps.Clone(l.Marks)
	if l.Marks == nil {
		l.Marks = map[string]Mark{}
	}
	l.Marks[agent] = m
	return l
}

// Limits of a letter.
const (
	MaxText    = 1 << 20 // bytes
	MaxSubject = 200     // bytes
	MaxKey     = 100     // bytes
)

// ErrLetter means that a letter cannot be sent as it is.
var ErrLetter = errors.New("bad letter")

// Check returns an error unless the parts of a letter are within the limits.
func Check(key, subject, text string) error {
	switch {
	case key == "" || len(key) > MaxKey:
		return fmt.Errorf("%w: an id of %d bytes, 1 to %d are allowed", ErrLetter, len(key), MaxKey)
	case len(subject) > MaxSubject:
		return fmt.Errorf("%w: a subject of %d bytes, at most %d", ErrLetter, len(subject), MaxSubject)
	case strings.ContainsAny(subject, "\r\n"):
		return fmt.Errorf("%w: the subject has several lines", ErrLetter)
	case text == "":
		return fmt.Errorf("%w: it has no text", ErrLetter)
	case len(text) > MaxText:
		return fmt.Errorf("%w: a text of %d bytes, at most %d", ErrLetter, len(text), MaxText)
	case !utf8.ValidString(subject) || !utf8.ValidString(text):
		return fmt.Errorf("%w: it is not UTF-8", ErrLetter)
	}
	return nil
}
