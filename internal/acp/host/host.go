package host

import (
	"crypto/rand"
	"os"
	"strconv"
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

	phase   string
	failure *control.Failure
	resumed bool
	notice  string
	end     end
	trimmer trim.Trimmer

	since time.Time // of the activity
	dirty bool      // the state has changed since it was published
	state control.State
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
	h := &host{launch: l, loop: newLoop(), conv: conversation.New(), screen: s, phase: control.PhaseStarting, since: time.Now(), trimmer: trim.Trimmer{Worth: trim.Worth}}
	if h.record, err = newRecord(l.Dir, h.warn); err != nil {
		return nil, err
	}
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
	h.dirty = true
	h.screen.dirty()
}

// flush publishes the state if it has changed, and paints when it is time.
func (h *host) flush() {
	h.record.items(h.conv) // before anybody learns that a turn has ended
	if h.dirty {
		h.dirty = false
		h.publish()
	}
	h.screen.flush()
}

// publish tells clients and the multiplexer what the agent is doing.
func (h *host) publish() {
	old := h.state
	h.state = h.snapshot()
	h.server.Publish(h.state)
	if old.Activity != h.state.Activity || old.Kind != h.state.Kind || pendingID(old) != pendingID(h.state) {
		h.screen.report(h.state)
	}
}

func pendingID(s control.State) string {
	if s.Pending == nil {
		return ""
	}
	return s.Pending.RequestID
}

// snapshot is the state as clients see it.
func (h *host) snapshot() control.State {
	s := control.State{
		Version: h.state.Version + 1, Phase: h.phase, Failure: h.failure,
		Pending: h.asks.pending(), Open: len(h.asks.open), Queue: h.turns.box.queued(),
		LastTurn: h.turns.last, Turns: h.turns.ended,
		Conversation: h.peer.session, Resumed: h.resumed, Notice: h.notice, Agent: h.peer.agent.Name(),
	}
	if h.turns.open != nil {
		s.Turn = h.turns.open.msg.ID
	}
	s.Activity, s.Kind, s.Evidence = h.activity()
	if s.Activity != h.state.Activity || s.Kind != h.state.Kind {
		h.since = time.Now()
	}
	s.Since = h.since
	s.Mode, s.Modes = h.conv.Mode(), choices(h.conv.Modes())
	s.Model, s.Models = h.conv.Model(), choices(h.conv.Models())
	u := h.conv.Usage()
	s.Used, s.Size, s.Cost, s.Currency = u.Used, u.Size, u.Cost, u.Currency
	return s
}

func choices(list []conversation.Choice) []control.Choice {
	out := make([]control.Choice, 0, len(list))
	for _, c := range list {
		out = append(out, control.Choice{ID: c.ID, Name: c.Name})
	}
	return out
}

// activity is what the agent is doing, and what that is known from.
func (h *host) activity() (state, kind, evidence string) {
	switch t := h.turns.open; {
	case h.phase == control.PhaseFailed && h.failure.Kind == control.FailAuth:
		return "blocked", "auth", h.failure.Message
	case h.phase != control.PhaseReady:
		return "starting", "", "the agent is " + h.phase
	case len(h.asks.open) > 0:
		return "blocked", h.asks.open[0].Kind, "the agent waits for an answer: " + h.asks.open[0].Title
	case h.turns.auth != "":
		return "blocked", "auth", h.turns.auth
	case t != nil && t.deaf:
		return "working", "", "the agent does not react to cancel"
	case t != nil && !t.cancelled.IsZero():
		return "working", "", "a prompt is open, and cancelled"
	case t != nil:
		return "working", "", "a prompt is open" + running(h.conv.Running())
	}
	return "idle", "", "no prompt is open" + lastTurn(h.turns.last)
}

// running says how many tools run.
func running(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; a tool call runs"
	}
	return "; " + strconv.Itoa(n) + " tool calls run"
}

// lastTurn says how the last turn ended.
func lastTurn(t *control.Turn) string {
	switch {
	case t == nil:
		return ""
	case t.Error != "":
		return "; the last turn failed: " + t.Error
	}
	return "; the last turn ended with " + t.StopReason
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
	if protocol.Decode(m.Params, &n) != nil || n.SessionID != h.peer.session || h.peer.replaying {
		return
	}
	if h.peer.late && n.Update.IsHistory() {
		h.peer.repeated = time.Now()
		return
	}
	before := h.conv.StateVersion()
	h.conv.Apply(n.Update)
	h.turns.heard()
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
