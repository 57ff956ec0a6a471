package host

import (
	"errors"
	"io/fs"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
)

// Options of a question that gc itself asks about a request of the agent.
const (
	permitAllow  = "allow"
	permitReject = "reject"
)

// permit asks for permission for a request of the agent. If it is given, the answer to
// the request is the result of do.
func (h *host) permit(m wire.Message, tool conversation.Tool, do func() (any, error)) {
	h.asks.add(&question{
		request: m.ID,
		Question: conversation.Question{
			Kind: "permission", Title: tool.Title, Tool: &tool,
			Options: []conversation.Option{{ID: permitAllow, Label: "Allow", Kind: protocol.AllowOnce}, {ID: permitReject, Label: "Reject", Kind: protocol.RejectOnce}},
		},
		send: func(option string) {
			if option != permitAllow {
				h.peer.fail(m.ID, wire.CodeInternal, "not allowed")
				return
			}
			if result, err := do(); errors.Is(err, fs.ErrNotExist) { // an agent that writes a new file asks for it first
				h.peer.fail(m.ID, protocol.CodeNotFound, "Resource not found: "+err.Error())
			} else if err != nil {
				h.peer.fail(m.ID, wire.CodeInternal, err.Error())
			} else {
				h.peer.reply(m.ID, result)
			}
		},
	})
}
