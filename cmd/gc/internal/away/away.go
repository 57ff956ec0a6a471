// Package away is the way of one-way messages from a session to its city on another machine,
// by the outbox of the multiplexer that the session runs in. It has both ends: [City] finds
// out whether the city is elsewhere, and posts; [Outbox] is what the city's controller takes
// the messages from.
//
// A session never reaches its city through it, so no command gets an answer. Only cmd/gc
// calls it.
package away

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// ErrAway is the error of what needs an answer from a city on another machine.
var ErrAway = errors.New("the city of this session is on another machine")

// City is the city of this session, if the session is on another machine.
type City struct {
	ID string // in outboxes; "" if the session is on the city's machine
}

// Of is the city of a session with this environment.
func Of(getenv func(string) string) City { return City{getenv(cityapi.EnvOutbox)} }

// Far reports whether the session was started on another machine than its city. That
// may be this machine all the same: see Here.
func (c City) Far() bool { return c.ID != "" }

// Here reports whether the city's directory is on this machine and readable. A directory
// of the same name that is another city's is not.
func (c City) Here() bool {
	i := strings.LastIndexByte(c.ID, '@')
	if i < 0 {
		return false // cannot tell
	}
	found, ok := config.ReadIdentity(c.ID[:i])
	return ok && found.ID == c.ID[i+1:]
}

// Err is ErrAway with a hint.
func (c City) Err() error {
	dir := c.ID
	if i := strings.LastIndexByte(dir, '@'); i >= 0 {
		dir = dir[:i]
	}
	return cli.Fail(cli.ExitUnsupported,
		"run it where the city is; messages that need no answer reach it: gc nudge AGENT TEXT, gc runtime drain-ack",
		"%w (%s)", ErrAway, dir)
}

// Post puts a message into the outbox of the multiplexer that the session runs in. It is on
// disk when Post returns. Post starts no server: its outbox would not be the session's.
func (c City) Post(ctx context.Context, m cityapi.Message) (api.OutboxEntry, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return api.OutboxEntry{}, err
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return api.OutboxEntry{}, err
	}
	mux, err := client.Dial(ctx, paths)
	if err != nil {
		return api.OutboxEntry{}, err
	}
	defer mux.Close()
	e, err := mux.Post(ctx, api.OutboxRequest{City: c.ID, Body: body})
	switch {
	case errors.Is(err, api.ErrOutbox):
		return e, cli.Fail(cli.ExitFailure, "the city empties it when its controller runs and reaches this machine; gc mux outbox lists it", "the message is not sent: %w", err)
	case err != nil:
		return e, fmt.Errorf("the message is not sent: %w", err)
	}
	return e, nil
}

// Receipt is what a command prints about a message in the outbox.
type Receipt struct {
	State string `json:"state"` // queued
	Where string `json:"where"` // outbox
	ID    string `json:"id"`
	Place int    `json:"place"` // among the messages to the city that are waiting there, from 1
}

// ReceiptOf is the receipt of a message.
func ReceiptOf(e api.OutboxEntry) Receipt {
	return Receipt{State: "queued", Where: "outbox", ID: e.ID, Place: e.Ahead + 1}
}

func (r Receipt) String() string {
	return fmt.Sprintf("queued in this machine's outbox, place %d: the city is on another machine", r.Place)
}
