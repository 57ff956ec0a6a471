package api

import (
	"context"
	"net/http"
	"time"
)

// Attention is something of a city that needs somebody.
type Attention struct {
	// ID names this occasion: another question of the same agent has another one.
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Agent   string    `json:"agent"`
	Session string    `json:"session,omitempty"`
	Host    string    `json:"host,omitempty"` // the other machine that hosts it
	Since   time.Time `json:"since,omitzero"` // zero: unknown
	Until   time.Time `json:"until,omitzero"` // of a limit: its end, if the agent shows it
	Text    string    `json:"text"`           // one line
	Options []string  `json:"options,omitempty"`
	Request string    `json:"request,omitempty"` // of a question, for gc respond --request
	Hint    string    `json:"hint"`              // the command that deals with it
}

// The kinds of Attention.
const (
	AttentionQuestion    = "question"
	AttentionLogin       = "login"       // it waits for a login
	AttentionLimited     = "limited"     // its provider limits it
	AttentionStuck       = "stuck"       // it says that it works, and nothing moves
	AttentionError       = "error"       // it reports an error
	AttentionCrashed     = "crashed"     // it is down after a death
	AttentionQuarantined = "quarantined" // it died too often
	AttentionFailing     = "failing"     // it cannot be started
	AttentionLost        = "lost"        // its backend or machine does not answer
	AttentionDeadLetter  = "dead-letter" // a message to it was given up
	AttentionDeadEnd     = "dead-end"    // it was not told that its background command ended
	AttentionDone        = "done"        // it is done, and nobody has looked
)

// AttentionKinds are all kinds of Attention.
var AttentionKinds = []string{
	AttentionQuestion, AttentionLogin, AttentionLimited, AttentionStuck, AttentionError, AttentionCrashed,
	AttentionQuarantined, AttentionFailing, AttentionLost, AttentionDeadLetter, AttentionDeadEnd, AttentionDone,
}

// Attention returns what needs somebody, oldest first.
func (c *Client) Attention(ctx context.Context) ([]Attention, error) {
	var list []Attention
	err := c.call(ctx, http.MethodGet, "/v1/attention", nil, &list)
	return list, err
}
