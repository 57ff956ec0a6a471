package api

import (
	"encoding/json"
	"fmt"

	"gascity.dev/gc/internal/config"
)

// EnvOutbox is set in sessions on other machines than their city's: the id under which
// the city takes messages from the outbox of their multiplexer. It is [OutboxID] of the
// variables GC_CITY_PATH and GC_CITY_ID.
const EnvOutbox = "GC_OUTBOX"

// OutboxID is the id of a city in outboxes: its directory and, if it has one, "@" and its id.
// Neither alone is unique: cities of two machines may be in directories of the same name.
func OutboxID(dir, id string) string {
	if id == "" {
		return dir
	}
	return dir + "@" + id
}

// OutboxIDs are the ids of the city in dir in outboxes. A city that was moved also takes
// what sessions say that run since before.
func OutboxIDs(dir string) []string {
	i, _ := config.ReadIdentity(dir)
	ids := []string{OutboxID(dir, i.ID)}
	if was := config.MovedFrom(dir); was != "" {
		ids = append(ids, OutboxID(was, i.ID))
	}
	return ids
}

// Kinds of messages.
const (
	MessageDrain    = "drain"           // DrainSelf
	MessageUndrain  = "undrain"         // cancels it
	MessageDrainAck = "drain-ack"       // AckDrain
	MessageRestart  = "request-restart" // RequestRestart
	MessageNudge    = "nudge"           // Queue, with Nudge
	MessageWait     = "wait"            // StoreWait, with Wait
)

// Message is what a program in a session on another machine says to its city, without
// getting an answer. It travels as the body of a message in an outbox. Fields are only
// ever added; the controller refuses a kind that it does not know.
type Message struct {
	Kind string `json:"kind"`
	InsideRequest
	Nudge *QueueRequest `json:"nudge,omitempty"`
	Wait  *WaitRequest  `json:"wait,omitempty"`
}

// MaxNudge is the length of the longest message to an agent, in bytes.
const MaxNudge = 1 << 20

// maxName bounds names of agents and conditions in messages, in bytes.
const maxName = 4096

// ParseMessage decodes the body of a message, which may come from a machine that is not
// trusted: it checks everything that can be checked without the city.
func ParseMessage(body []byte) (m Message, err error) {
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("it is not a message: %w", err)
	}
	names := []string{m.Kind, m.Agent, m.Token}
	switch m.Kind {
	case MessageDrain, MessageUndrain, MessageDrainAck, MessageRestart:
		m.Nudge, m.Wait = nil, nil
	case MessageNudge:
		if m.Wait = nil; m.Nudge == nil || m.Nudge.Text == "" {
			return m, fmt.Errorf("a %s without a text", m.Kind)
		}
		if len(m.Nudge.Text) > MaxNudge {
			return m, fmt.Errorf("a text of %d bytes, at most %d", len(m.Nudge.Text), MaxNudge)
		}
		names = append(names, m.Nudge.Agent)
	case MessageWait:
		if m.Nudge = nil; m.Wait == nil {
			return m, fmt.Errorf("a %s without a condition", m.Kind)
		}
		if _, err := ParseUntil(m.Wait.Until); err != nil {
			return m, err
		}
		if len(m.Wait.Note) > MaxNudge {
			return m, fmt.Errorf("a note of %d bytes, at most %d", len(m.Wait.Note), MaxNudge)
		}
		names = append(names, m.Wait.Agent, m.Wait.Wake, m.Wait.Until)
	default:
		return m, fmt.Errorf("unknown kind %.40q", m.Kind)
	}
	for _, name := range names {
		if name == "" || len(name) > maxName {
			return m, fmt.Errorf("a %s with a name of %d bytes, 1 to %d are allowed", m.Kind, len(name), maxName)
		}
	}
	return m, nil
}
