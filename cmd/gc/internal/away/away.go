// Package away is the way from a session to its city on another machine, by the multiplexer
// that the session runs in. It has both ends: [City] finds out whether the city is elsewhere,
// posts messages and asks; [Outbox] is what the city's controller takes the messages from, and
// answers.
//
// A message waits in the outbox until the city takes it. A request is answered only while
// the controller is connected to the machine. Only cmd/gc calls it.
package away

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"gascity.dev/gc/cmd/gc/internal/cli"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// ErrAway is the error of what needs an answer from a city on another machine.
var ErrAway = cityapi.ErrAway

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
func (c City) Here() bool { return cityapi.OutboxIsHere(c.ID) }

// Err is ErrAway with a hint.
func (c City) Err() error {
	return cli.Fail(cli.ExitUnsupported,
		"run it where the city is; from here the city can be asked by gc mail and gc status, and messages that need no answer reach it: gc nudge AGENT TEXT, gc runtime drain-ack",
		"%w (%s)", ErrAway, cityapi.OutboxDir(c.ID))
}

// Client returns a client of the city's controller for the agent of this session, for the
// few requests that a session on another machine may make. Its requests fail with ErrAway while the
// controller is not connected to this machine.
func (c City) Client(getenv func(string) string) *cityapi.Client {
	return cityapi.NewFarClient(cityapi.InsideRequest{Agent: getenv("GC_AGENT"), Token: getenv("GC_INSTANCE_TOKEN")}, c.ask)
}

// ask passes a request on by the multiplexer that the session runs in.
func (c City) ask(ctx context.Context, request []byte) ([]byte, error) {
	mux, err := c.mux(ctx)
	if err != nil {
		return nil, err
	}
	defer mux.Close()
	answer, err := mux.AskCity(ctx, c.ID, request)
	dir := cityapi.OutboxDir(c.ID)
	switch {
	case errors.Is(err, api.ErrCityAway), errors.Is(err, api.ErrVersion):
		status, hint := cli.StatusOf(err)
		return nil, cli.Fail(status, hint, "%w (%s): %w", ErrAway, dir, err)
	case errors.Is(err, api.ErrNoAnswer):
		return nil, cli.Fail(cli.ExitCannotTell, "try again; gc mail list shows what was done", "city %s: %w", dir, err)
	case err != nil:
		return nil, fmt.Errorf("city %s: %w", dir, err)
	}
	return answer, nil
}

// mux connects to the multiplexer that the session runs in. It starts none: another one's
// outbox would not be the session's.
func (c City) mux(ctx context.Context) (*client.Client, error) {
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, paths)
}

// Post puts a message into the outbox of the multiplexer that the session runs in. It is on
// disk when Post returns.
func (c City) Post(ctx context.Context, m cityapi.Message) (api.OutboxEntry, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return api.OutboxEntry{}, err
	}
	mux, err := c.mux(ctx)
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
