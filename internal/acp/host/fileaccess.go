package host

import (
	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/files"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
)

// fileAccess carries out the agent's requests for files, under the policy: reading is
// of the kind read, writing of the kind edit.
type fileAccess struct {
	h     *host
	files *files.Files // nil: the agent may not ask
}

// read handles fs/read_text_file.
func (a *fileAccess) read(m wire.Message) {
	var r protocol.ReadFileRequest
	if err := protocol.DecodeExact(m.Params, &r); err != nil || r.SessionID != a.h.peer.session {
		a.h.peer.fail(m.ID, wire.CodeInvalidParams, "a file is read by its path, in this session")
		return
	}
	a.ask(m, "read", r.Path, func() (any, error) {
		text, err := a.files.Read(r.Path, orZero(r.Line), orZero(r.Limit))
		return protocol.ReadFileResult{Content: text}, err
	})
}

// write handles fs/write_text_file.
func (a *fileAccess) write(m wire.Message) {
	var r protocol.WriteFileRequest
	if err := protocol.DecodeExact(m.Params, &r); err != nil || r.Content == nil || r.SessionID != a.h.peer.session {
		a.h.peer.fail(m.ID, wire.CodeInvalidParams, "a file is written by its path, in this session")
		return
	}
	a.ask(m, "edit", r.Path, func() (any, error) { return protocol.Empty, a.files.Write(r.Path, *r.Content) })
}

func orZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// ask asks for permission for a file, unless it is one that the agent cannot have.
func (a *fileAccess) ask(m wire.Message, kind, path string, do func() (any, error)) {
	if err := a.files.Check(path); err != nil {
		a.h.peer.fail(m.ID, wire.CodeInvalidParams, err.Error())
		return
	}
	title := kind + " " + clean(path)
	a.h.permit(m, conversation.Tool{Kind: kind, Title: title, Locations: []string{path}}, do)
}
