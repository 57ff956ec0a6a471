// Package notify tells a person what of a city needs somebody, by a command of the city.
//
// Its invariant: each occasion is told at most once, over restarts, and the command runs
// once at a time. It knows nothing of agents: the controller gives it a [City].
package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/spawn"
)

// City is what a notifier needs of its city.
type City interface {
	// Notify returns the present settings.
	Notify() config.Notify
	// Attention returns what needs somebody now, oldest first.
	Attention(ctx context.Context) ([]api.Attention, error)
	// Told returns the IDs that were told, SetTold replaces them. SetTold returns when that
	// is on disk.
	Told() (map[string]time.Time, error)
	SetTold(ctx context.Context, told map[string]time.Time) error
	// Failed records that the command failed, in one line.
	Failed(why string)
}

// Message is what the command reads on its standard input.
type Message struct {
	City  string          `json:"city"` // its directory
	Items []api.Attention `json:"items"`
}

const (
	settle    = 300 * time.Millisecond // after a change: a status may flap
	runLimit  = 30 * time.Second       // of one run of the command
	again     = 10 * time.Second       // after the first failure; doubled up to most
	mostAgain = 5 * time.Minute
	keep      = 24 * time.Hour // a settled occasion is forgotten after that
)

// Notifier tells what is new.
type Notifier struct {
	City City
	Dir  string   // of the city: the command's working directory
	Env  []string // of the command
	Now  func() time.Time

	told     map[string]time.Time
	limit    time.Duration // of one run; 0: runLimit
	last     time.Time     // of the newest run
	failures int
}

// Run tells what is new after each change, until ctx ends.
func (n *Notifier) Run(ctx context.Context, changes <-chan struct{}) {
	timer, soon := time.NewTimer(settle), true
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
			if !soon {
				soon = true
				timer.Reset(max(settle, n.held()))
			}
			continue
		case <-timer.C:
		}
		soon = false
		if wait := n.look(ctx); wait > 0 {
			timer.Reset(wait)
		}
	}
}

// held is how long a failure still delays the next run.
func (n *Notifier) held() time.Duration {
	if n.failures == 0 {
		return 0
	}
	return n.last.Add(min(again<<(n.failures-1), mostAgain)).Sub(n.Now())
}

// look tells what is new and returns when to look again without a change; 0 is never.
func (n *Notifier) look(ctx context.Context) time.Duration {
	c := n.City.Notify()
	if c.Command == "" {
		return 0
	}
	if n.told == nil {
		told, err := n.City.Told()
		if err != nil {
			n.City.Failed(err.Error())
			return mostAgain
		}
		n.told = told
	}
	now := n.Now()
	items, err := n.City.Attention(ctx)
	if err != nil {
		return again
	}
	fresh := slices.DeleteFunc(slices.Clone(items), func(it api.Attention) bool {
		return !n.isNew(it) || !wanted(c, it.Kind)
	})
	if len(fresh) == 0 {
		return 0
	}
	if wait := c.QuietFor(now); wait > 0 {
		return wait
	}
	if wait := n.last.Add(c.Every).Sub(now); wait > 0 {
		return wait
	}
	return n.tell(ctx, c.Command, now, items, fresh)
}

// isNew reports whether an occasion was not told. A question that an agent asks again, after
// it was answered, has the same ID and is another occasion.
func (n *Notifier) isNew(it api.Attention) bool {
	at, told := n.told[it.ID]
	return !told || it.Request != "" && it.Since.After(at)
}

// wanted reports whether a person asked for the kind. Without a list, everything but work
// that is done.
func wanted(c config.Notify, kind string) bool {
	if len(c.Kinds) == 0 {
		return kind != api.AttentionDone
	}
	return slices.Contains(c.Kinds, kind)
}

// tell runs the command with what was new at now. It is on record before: a crash in between
// leaves one occasion untold rather than one told twice.
func (n *Notifier) tell(ctx context.Context, command string, now time.Time, items, fresh []api.Attention) time.Duration {
	told := map[string]time.Time{}
	for id, at := range n.told {
		if open := slices.ContainsFunc(items, func(it api.Attention) bool { return it.ID == id }); open || now.Sub(at) < keep {
			told[id] = at
		}
	}
	for _, it := range fresh {
		if told[it.ID] = now; it.Since.After(now) { // it began since
			told[it.ID] = it.Since
		}
	}
	if err := n.City.SetTold(ctx, told); err != nil {
		n.City.Failed(err.Error())
		return again
	}
	n.last = now
	if err := n.run(ctx, command, fresh); err != nil {
		if ctx.Err() != nil {
			return 0
		}
		n.failures++
		n.City.Failed(err.Error())
		for _, it := range fresh { // nobody heard it
			delete(told, it.ID)
		}
		n.told = told
		if err := n.City.SetTold(ctx, told); err != nil {
			n.City.Failed(err.Error())
		}
		return n.held()
	}
	n.told, n.failures = told, 0
	return 0
}

func (n *Notifier) run(ctx context.Context, command string, fresh []api.Attention) error {
	text, err := json.Marshal(Message{City: n.Dir, Items: fresh})
	if err != nil {
		return err
	}
	limit := cmp.Or(n.limit, runLimit)
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var said tail
	code, err := spawn.Run(inner, spawn.Command{
		Line: command, Dir: n.Dir, Env: n.Env, Stdin: bytes.NewReader(append(text, '\n')), Stdout: &said, Stderr: &said,
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) || inner.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("the command of [notify] took longer than %v", limit)
	case err != nil:
		return fmt.Errorf("the command of [notify]: %w", err)
	case code != 0:
		return fmt.Errorf("the command of [notify] ended with %d: %s", code, strings.Join(strings.Fields(string(said)), " "))
	}
	return nil
}

// tail keeps the end of what is written.
type tail []byte

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-200):]
	return len(b), nil
}
