// Package wire carries a fleet over HTTP: [Handler] serves one, [Client] is one.
//
// It owns the paths and the JSON below /v1/city, which docs/city-api.md describes, and
// decides nothing. The controller serves it on its socket; the front-ends use the client.
// Screens and terminals are WebSockets, a watched fleet and events are lines of JSON.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"gascity.dev/gc/internal/fleet"
)

// base begins every path.
const base = "/v1/city"

// Limits of messages.
const (
	maxBody    = 2 << 20  // of a request
	maxMessage = 64 << 20 // of a paint
)

// failure is the body of a reply to a request that failed.
type failure struct {
	Text string `json:"error"`
	Code string `json:"code,omitempty"`
}

// codes are the errors that a client tells apart.
var codes = []struct {
	err    error
	code   string
	status int
}{
	{fleet.ErrNotFound, "not_found", http.StatusNotFound},
	{fleet.ErrChanged, "changed", http.StatusConflict},
	{fleet.ErrRefused, "refused", http.StatusBadRequest},
	{fleet.ErrUnsupported, "unsupported", http.StatusNotImplemented},
	{fleet.ErrAway, "away", http.StatusServiceUnavailable},
}

// remoteError is an error of the other side.
type remoteError struct {
	text string
	kind error // one of codes; nil for another one
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// err returns the error that a failure stands for.
func (f failure) err() error {
	for _, c := range codes {
		if c.code == f.Code {
			return &remoteError{text: f.Text, kind: c.err}
		}
	}
	return &remoteError{text: f.Text}
}

// failed returns the reply to a request that failed.
func failed(err error) (failure, int) {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return failure{Text: err.Error(), Code: c.code}, c.status
		}
	}
	return failure{Text: err.Error()}, http.StatusInternalServerError
}

// The bodies of requests.
type (
	textBody struct {
		Text string `json:"text"`
	}
	actionBody struct {
		Action fleet.Action `json:"action"`
	}
	sizeBody struct {
		Type string `json:"type"` // "resize"
		Cols int    `json:"cols"`
		Rows int    `json:"rows"`
	}
)

// patch is what changed of a snapshot. The first one is whole.
type patch struct {
	fleet.Snapshot // without Agents, Attention, Messages

	Changed   []fleet.Agent      `json:"agents,omitempty"`    // the changed and the new ones
	Order     []string           `json:"order,omitempty"`     // all ids, if that changed
	Empty     bool               `json:"empty,omitempty"`     // the order is that of no agents
	Attention *[]fleet.Attention `json:"attention,omitempty"` // all, if that changed
	Messages  *[]fleet.Message   `json:"messages,omitempty"`  // all, if that changed
}

// differ makes patches of one snapshot after the other.
type differ struct {
	agents    map[string][]byte // in JSON
	order     []string
	attention []byte
	messages  []byte
}

// next returns what changed since the snapshot before.
func (d *differ) next(s fleet.Snapshot) (patch, error) {
	p := patch{Snapshot: s}
	agents, order := map[string][]byte{}, make([]string, 0, len(s.Agents))
	for i := range s.Agents {
		b, err := json.Marshal(&s.Agents[i])
		if err != nil {
			return patch{}, err
		}
		id := s.Agents[i].ID
		if agents[id], order = b, append(order, id); !bytes.Equal(b, d.agents[id]) {
			p.Changed = append(p.Changed, s.Agents[i])
		}
	}
	if d.agents == nil || !equal(order, d.order) {
		p.Order, p.Empty = order, len(order) == 0
	}
	d.agents, d.order = agents, order
	attention, err := json.Marshal(s.Attention)
	if err != nil {
		return patch{}, err
	}
	if !bytes.Equal(attention, d.attention) {
		d.attention, p.Attention = attention, &s.Attention
	}
	messages, err := json.Marshal(s.Messages)
	if err != nil {
		return patch{}, err
	}
	if !bytes.Equal(messages, d.messages) {
		d.messages, p.Messages = messages, &s.Messages
	}
	return p, nil
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// joiner makes snapshots of patches.
type joiner struct {
	agents    map[string]fleet.Agent
	order     []string
	attention []fleet.Attention
	messages  []fleet.Message
}

// next returns the snapshot after a patch.
func (j *joiner) next(p patch) fleet.Snapshot {
	if j.agents == nil {
		j.agents = map[string]fleet.Agent{}
	}
	for _, a := range p.Changed {
		j.agents[a.ID] = a
	}
	if p.Order != nil || p.Empty {
		j.order = p.Order
		stay := make(map[string]fleet.Agent, len(p.Order))
		for _, id := range p.Order {
			stay[id] = j.agents[id]
		}
		j.agents = stay
	}
	if p.Attention != nil {
		j.attention = *p.Attention
	}
	if p.Messages != nil {
		j.messages = *p.Messages
	}
	s := p.Snapshot
	s.Agents = make([]fleet.Agent, len(j.order))
	for i, id := range j.order {
		s.Agents[i] = j.agents[id]
	}
	s.Attention, s.Messages = j.attention, j.messages
	return s
}
