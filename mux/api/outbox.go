package api

import (
	"encoding/json"
	"time"
)

// Limits of the outbox.
const (
	MaxOutboxBody    = 2 << 20  // bytes of one message
	MaxOutboxBytes   = 64 << 20 // of the messages of one city
	MaxOutboxEntries = 10_000   // messages of one city
	MaxOutboxCities  = 64
	MaxOutboxCity    = 4096      // bytes of a city's id
	MaxOutboxID      = 64        // bytes of a message's id
	OutboxMemory     = time.Hour // for which the id of a message that was taken is known
)

// OutboxRequest is a message from a program on this machine to a city that is on
// another. The server does not look into Body.
type OutboxRequest struct {
	ID   string          `json:"id"`   // chosen by the sender: 1 to 64 of [A-Za-z0-9_-], unique within the city
	City string          `json:"city"` // id of the city
	Body json.RawMessage `json:"body"`
}

// OutboxEntry is a message in the outbox.
type OutboxEntry struct {
	OutboxRequest
	Place   uint64    `json:"place"` // grows; a city's messages are listed in this order
	Created time.Time `json:"created"`
	Ahead   int       `json:"ahead"`          // messages of the city before it, when it was posted
	Taken   time.Time `json:"taken,omitzero"` // when the city took it; it is no longer listed
}

// OutboxList is a part of the outbox.
type OutboxList struct {
	Entries []OutboxEntry `json:"entries"`
}
