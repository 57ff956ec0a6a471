package host

import (
	"crypto/rand"
	"os"
	"time"

	"gascity.dev/gc/internal/acp/commands"
	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/files"
	"gascity.dev/gc/internal/acp/policy"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
	"gascity.dev/gc/internal/trim"
)

// host joins the parts. They belong to the goroutine of run.
type host struct {
	launch control.Launch
	loop   loop

	proc   *process
	peer   *peer
	conv   *conversation.Conversation
	turns  *turns
	asks   *questions
	record *record
	access *fileAccess
	runs   *commandAccess
	screen *screen
	server *control.Server

	start     *handshake
	settings  *settings
	life      *life
	published *published
	trimmer   trim.Trimmer
}

// newHost makes the parts, without the agent.
func newHost(l control.Launch, s *screen) (*host, error) {
	rules, err := policy.New(policy.Config{Permission: l.Permission, Allow: l.Allow, Deny: l.Deny, WorkDir: l.WorkDir})
	if err != nil {
		return nil, err
	}
	box, err := openMailbox(l.Dir)
	if err != nil {
		return nil, err
	}
	h := &host{launch: l, loop: newLoop(), conv: conversation.New(), screen: s, trimmer: trim.Trimmer{Worth: trim.Worth}}
	if h.record, err = newRecord(l.Dir, h.warn); err != nil {
		return nil, err
	}
	h.start, h.settings = &handshake{h: h}, &settings{h: h, chosen: openChosen(l.Dir)}
	h.life, h.published = &life{h: h, phase: control.PhaseStarting}, &published{h: h, since: time.Now()}
	h.turns = &turns{h: h, box: box}
	h.asks = &questions{h: h, policy: rules, incarnation: rand.Text()[:8]}
	h.access, h.runs = &fileAccess{h: h}, &commandAccess{h: h}
	if l.Terminal {
		h.runs.set = commands.NewSet(l.WorkDir, agentEnv(os.Environ()), detached)
	}
	if l.FS {
		if h.access.files, err = files.Open(l.WorkDir); err != nil {
			return nil, err
		}
	}
	h.server = control.NewServer(l.Version, h.handle)
	return h, nil
}

// warn shows a line that concerns the host itself.
func (h *host) warn(text string) {
	h.conv.AddNotice("gc: " + text)
	h.screen.dirty()
}

// changed notes that the state is to be published.
func (h *host) changed() {
	h.published.dirty = true
	h.screen.dirty()
}

// flush publishes the state if it has changed, and paints when it is time.
func (h *host) flush() {
	h.record.items(h.conv) // before anybody learns that a turn has ended
	if h.published.dirty {
		h.published.dirty = false
		h.published.publish()
	}
	h.screen.flush()
}

// message handles one message of the agent.
func (h *host) message(m wire.Message) {
	switch m.Kind {
	case wire.Response:
		h.peer.answered(m)
	case wire.Request:
		h.request(m)
	default:
		h.notified(m)
	}
}

// notified handles a notification.
func (h *host) notified(m wire.Message) {
	switch m.Method {
	case protocol.MethodUpdate:
		h.update(m)
	case protocol.MethodCancelRequest:
		var r protocol.CancelRequest
		if protocol.Decode(m.Params, &r) == nil {
			h.asks.withdrawn(r.RequestID)
		}
	}
}

// update applies what the agent says about the conversation.
func (h *host) update(m wire.Message) {
	var n protocol.SessionNotification
	if protocol.Decode(m.Params, &n) != nil || n.SessionID != h.peer.session {
		return
	}
	if repeats := h.peer.replaying || h.peer.late; repeats && n.Update.IsHistory() {
		h.peer.repeated = time.Now()
		return
	}
	if h.peer.replaying {
		return
	}
	before := h.conv.StateVersion()
	h.conv.Apply(n.Update)
	h.turns.heard()
	h.turns.spent(n.Update.Spent)
	if h.conv.StateVersion() != before {
		h.changed()
	}
	h.screen.dirty()
}

// request handles a request of the agent.
func (h *host) request(m wire.Message) {
	h.turns.heard()
	switch m.Method {
	case protocol.MethodPermission:
		h.asks.permission(m)
	case protocol.MethodElicitation:
		h.asks.elicitation(m)
	case protocol.MethodReadFile, protocol.MethodWriteFile:
		h.fileRequest(m)
	case protocol.MethodTerminalCreate, protocol.MethodTerminalOutput, protocol.MethodTerminalWait,
		protocol.MethodTerminalKill, protocol.MethodTerminalRelease:
		h.commandRequest(m)
	default:
		h.unknownRequest(m)
	}
}

func (h *host) unknownRequest(m wire.Message) {
	h.peer.fail(m.ID, wire.CodeMethodNotFound, "method not found: "+clean(m.Method))
}

// commandRequest handles a request about commands: it does not exist unless it is
// offered.
func (h *host) commandRequest(m wire.Message) {
	if h.runs.set == nil {
		h.unknownRequest(m)
		return
	}
	h.runs.request(m)
}

// fileRequest handles a request for a file: it does not exist unless it is offered.
func (h *host) fileRequest(m wire.Message) {
	switch {
	case h.access.files == nil:
		h.unknownRequest(m)
	case m.Method == protocol.MethodReadFile:
		h.access.read(m)
	default:
		h.access.write(m)
	}
}
