// Package outbox takes what programs on other machines say to a city from the outboxes of
// the multiplexers there.
//
// Each message is applied once. It is applied and on record in city.db before it is
// deleted where it came from, so none is lost; while it may still be listed there, its id
// is on record, so none is applied again. The package decides the order of these steps and
// when a failed one is tried again; it knows neither a multiplexer nor what a message says.
// Only internal/controller runs it; an [Outbox] is made by whoever starts the controller.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gascity.dev/gc/internal/clock"
)

// Outbox is the outbox of one machine. It may be called from several goroutines. A machine
// that does not answer is an error; what it answers is not trusted.
type Outbox interface {
	// String names the machine, for people.
	String() string
	// Take returns messages for a city after a place, in order. If there is none, it waits
	// for one, but only for minutes: then it returns none. ErrLost.
	Take(ctx context.Context, city string, after uint64) ([]Message, error)
	// Delete deletes a message of a city durably; nil if it is not there. ErrLost.
	Delete(ctx context.Context, city, id string) error
}

// Message is a message in an outbox.
type Message struct {
	ID    string
	Place uint64
	Body  []byte
}

// City is what messages are applied to.
type City interface {
	// Apply applies or refuses a message from a machine, unless it did before. It returns
	// nil when that is on disk, and stays so until Forget; an error means that it is to be
	// called again.
	Apply(ctx context.Context, from string, m Message) error
	// Refuse refuses a message that could not be applied for long, as Apply would.
	Refuse(ctx context.Context, from string, m Message, why error) error
	// Forget forgets the id of a message that is not in its outbox any more.
	Forget(id string)
}

// ErrLost is the error of an outbox that answered before it was lost: it is tried again soon,
// however often that happens.
var ErrLost = errors.New("lost")

// errNonsense is the error of an outbox that breaks the rules.
var errNonsense = errors.New("it sends what no outbox sends")

// Pauses after a step that failed, and how long one message may fail to be applied while
// others wait behind it.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
	giveUp     = 24 * time.Hour
)

// Reader takes the messages of one city from one outbox.
type Reader struct {
	Outbox Outbox
	Name   string // of the city, in the outbox
	City   City
	Logf   func(format string, args ...any)

	failing string    // id of the message that cannot be applied
	since   time.Time // when it first failed
}

// Run takes and applies messages, one after the other, until ctx ends.
func (r *Reader) Run(ctx context.Context) {
	pause := firstPause
	said := ""
	for ctx.Err() == nil {
		n, err := r.pass(ctx)
		switch {
		case errors.Is(err, errNonsense):
			pause = maxPause
		case n > 0 || err == nil:
			pause, said = firstPause, ""
		case errors.Is(err, ErrLost):
			pause = firstPause
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if text := err.Error(); text != said && !errors.Is(err, ErrLost) {
			said = text
			r.Logf("outbox of %s: %v", r.Outbox, err)
		}
		_ = clock.Sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, maxPause)
	}
}

// pass takes messages from the first on until there was none for a while: an outbox that
// lost its messages counts anew. It returns how many it took.
func (r *Reader) pass(ctx context.Context) (taken int, err error) {
	for after := uint64(0); ; {
		list, err := r.Outbox.Take(ctx, r.Name, after)
		if err != nil || len(list) == 0 {
			return taken, err
		}
		for _, m := range list {
			if m.Place <= after {
				return taken, fmt.Errorf("%w: place %d after %d", errNonsense, m.Place, after)
			}
			if err := r.take(ctx, m); err != nil {
				return taken, err
			}
			after = m.Place
			taken++
		}
	}
}

// take applies a message, then deletes it, then forgets it.
func (r *Reader) take(ctx context.Context, m Message) error {
	if err := checkID(m.ID); err != nil {
		return err
	}
	if err := r.apply(ctx, m); err != nil {
		return err
	}
	if err := r.Outbox.Delete(ctx, r.Name, m.ID); err != nil {
		return fmt.Errorf("delete message %s: %w", m.ID, err)
	}
	r.City.Forget(m.ID)
	return nil
}

func (r *Reader) apply(ctx context.Context, m Message) error {
	err := r.City.Apply(ctx, r.Outbox.String(), m)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if r.failing != m.ID {
		r.failing, r.since = m.ID, time.Now()
	}
	if time.Since(r.since) > giveUp {
		return r.City.Refuse(ctx, r.Outbox.String(), m, fmt.Errorf("not applied for %v: %w", giveUp, err))
	}
	return fmt.Errorf("message %s waits: %w", m.ID, err)
}

// maxID is the length of the longest id, in bytes.
const maxID = 64

// checkID returns an error unless id is 1 to 64 bytes of [A-Za-z0-9_-].
func checkID(id string) error {
	if id == "" || len(id) > maxID {
		return fmt.Errorf("%w: an id of %d bytes", errNonsense, len(id))
	}
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return fmt.Errorf("%w: an id with %q", errNonsense, c)
		}
	}
	return nil
}
