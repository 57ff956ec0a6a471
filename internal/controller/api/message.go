package api

import (
	"encoding/json"
	"fmt"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/mail"
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
	MessageMail     = "mail"            // SendMail, with Mail
	MessageMailAck  = "mail-ack"        // AckMail, with the ids of Ack
)

// Message is what a program in a session on another machine says to its city, without
// getting an answer. It travels as the body of a message in an outbox. Fields are only
// ever added; the controller refuses a kind that it does not know.
type Message struct {
	Kind string `json:"kind"`
	InsideRequest
	Nudge *QueueRequest `json:"nudge,omitempty"`
	Wait  *WaitRequest  `json:"wait,omitempty"`
	Mail  *MailRequest  `json:"mail,omitempty"` // its own agent and token do not count
	Ack   []string      `json:"ack,omitempty"`
}

// MaxNudge is the length of the longest message to an agent, in bytes.
const MaxNudge = 1 << 20

// Bounds of messages: bytes of names of agents and of conditions, ids of letters.
const (
	maxName = 4096
	maxAck  = 1000
)

// ParseMessage decodes the body of a message, which may come from a machine that is not
// trusted: it checks everything that can be checked without the city.
func ParseMessage(body []byte) (m Message, err error) {
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("it is not a message: %w", err)
	}
	names, err := m.check()
	if err != nil {
		return m, err
	}
	for _, name := range append(names, m.Agent, m.Token) {
		if name == "" || len(name) > maxName {
			return m, fmt.Errorf("a %s with a name of %d bytes, 1 to %d are allowed", m.Kind, len(name), maxName)
		}
	}
	return m, nil
}

// check checks what a message of its kind has, drops what it should not have, and returns
// the names in it.
func (m *Message) check() (names []string, err error) {
	whole := *m
	m.Nudge, m.Wait, m.Mail, m.Ack = nil, nil, nil, nil
	switch m.Kind {
	case MessageDrain, MessageUndrain, MessageDrainAck, MessageRestart:
		return nil, nil
	case MessageNudge:
		q := whole.Nudge
		m.Nudge = q
		if q == nil || q.Text == "" {
			return nil, fmt.Errorf("a %s without a text", m.Kind)
		}
		if len(q.Text) > MaxNudge {
			return nil, fmt.Errorf("a text of %d bytes, at most %d", len(q.Text), MaxNudge)
		}
		return []string{q.Agent}, nil
	case MessageWait:
		q := whole.Wait
		if m.Wait = q; q == nil {
			return nil, fmt.Errorf("a %s without a condition", m.Kind)
		}
		if len(q.Note) > MaxNudge {
			return nil, fmt.Errorf("a note of %d bytes, at most %d", len(q.Note), MaxNudge)
		}
		_, err := ParseUntil(q.Until)
		return []string{q.Agent, q.Wake, q.Until}, err
	case MessageMail:
		q := whole.Mail
		if m.Mail = q; q == nil {
			return nil, fmt.Errorf("a %s without a letter", m.Kind)
		}
		return []string{q.To}, mail.Check(q.ID, q.Subject, q.Text)
	case MessageMailAck:
		m.Ack = whole.Ack
		if len(m.Ack) == 0 || len(m.Ack) > maxAck {
			return nil, fmt.Errorf("a %s of %d letters, 1 to %d are allowed", m.Kind, len(m.Ack), maxAck)
		}
		return m.Ack, nil
	}
	return nil, fmt.Errorf("unknown kind %.40q", m.Kind)
}
