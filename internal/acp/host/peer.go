package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
)

// errEnded is the error of requests to an ending host.
var errEnded = errors.New("the agent has ended")

// codeAuth is the error of an agent that requires authentication.
const codeAuth = protocol.CodeAuth

// peer is the host's connection to the agent. An answer is handled where it comes in
// the order of the agent's messages.
type peer struct {
	conn  *wire.Conn
	then  map[int64]func(wire.Message) // by call
	agent protocol.InitializeResult

	session   string    // of the agent; "" before there is one
	replaying bool      // the agent repeats a conversation that it continues
	late      bool      // the same, after it has said that it continues it
	repeated  time.Time // the last repeated update after that
}

func newPeer(conn *wire.Conn) *peer {
	return &peer{conn: conn, then: map[int64]func(wire.Message){}}
}

// call sends a request; then gets its answer, at once if it cannot be sent.
func (p *peer) call(method string, params any, then func(wire.Message)) int64 {
	id, err := p.conn.Call(method, params)
	if err != nil {
		then(wire.Message{Kind: wire.Response, Err: &wire.Error{Code: wire.CodeInternal, Message: err.Error()}})
		return 0
	}
	p.then[id] = then
	return id
}

// answered handles an answer.
func (p *peer) answered(m wire.Message) {
	then := p.then[m.Call]
	delete(p.then, m.Call)
	if then != nil {
		then(m)
	}
}

// loginText is an error for want of a login, with the ways to log in that the agent
// offers.
func (p *peer) loginText(err error) string {
	text := strings.TrimSuffix(err.Error(), ".")
	if methods := p.agent.Methods(); len(methods) > 0 {
		text += "; the agent offers: " + strings.Join(methods, ", ")
	}
	return text
}

// decode decodes a successful answer into v. The error is one line for a person.
func decode(what string, m wire.Message, v any) error {
	if m.Err != nil {
		return fmt.Errorf("%s: %s", what, protocol.ErrorText(m.Err.Code, m.Err.Message, m.Err.Data))
	}
	if v == nil || len(m.Result) == 0 {
		return nil
	}
	if err := protocol.Decode(m.Result, v); err != nil {
		return fmt.Errorf("%s: the answer cannot be read: %w", what, err)
	}
	return nil
}

// notify sends a notification. A connection that accepts nothing more is about to end.
func (p *peer) notify(method string, params any) { _ = p.conn.Notify(method, params) }

// reply answers a request of the agent.
func (p *peer) reply(id json.RawMessage, result any) { _ = p.conn.Reply(id, result) }

// fail answers a request of the agent with an error.
func (p *peer) fail(id json.RawMessage, code int64, message string) {
	_ = p.conn.ReplyError(id, code, message)
}
