package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
)

// handshakeTime is how long a start may take, unless the launch says otherwise: large
// agents take 25 s on a busy machine.
const handshakeTime = 60 * time.Second

// Times of the replay that follows the answer to session/load.
const (
	replayQuiet = 200 * time.Millisecond // without a repeated update: it is over
	replayTime  = 5 * time.Second        // all of it
)

// begin starts the handshake: initialize, authenticate, a session, mode, model.
func (h *host) begin() {
	limit := cmp.Or(h.launch.HandshakeTimeout, handshakeTime)
	h.loop.after(limit, func() {
		h.fail(control.Failure{Kind: control.FailOther, Message: fmt.Sprintf("the agent was not ready after %v", limit)})
	})
	h.peer.call("initialize", protocol.Initialize(h.launch.Version, h.launch.FS, h.launch.Terminal), h.initialized)
}

// refuse ends the start with the agent's error.
func (h *host) refuse(m wire.Message, err error) {
	if m.Err != nil && m.Err.Code == codeAuth {
		h.refuseLogin(err)
		return
	}
	h.fail(control.Failure{Kind: control.FailOther, Message: err.Error()})
}

// refuseLogin ends the start of an agent that requires a login.
func (h *host) refuseLogin(err error) {
	f := control.Failure{Kind: control.FailAuth, Message: err.Error(), Methods: h.peer.agent.Methods()}
	if len(f.Methods) > 0 {
		f.Message += "; the agent offers: " + strings.Join(f.Methods, ", ")
	}
	h.fail(f)
}

func (h *host) initialized(m wire.Message) {
	if err := decode("initialize", m, &h.peer.agent); err != nil {
		h.refuse(m, err)
		return
	}
	if v := h.peer.agent.ProtocolVersion; v.Number() != protocol.Version {
		h.fail(control.Failure{Kind: control.FailOther, Message: fmt.Sprintf("the agent speaks version %s of the protocol, gc speaks version %d", v, protocol.Version)})
		return
	}
	if h.launch.Auth == "" {
		h.openSession()
		return
	}
	h.peer.call("authenticate", protocol.AuthenticateRequest{MethodID: h.launch.Auth}, func(m wire.Message) {
		if err := decode("authenticate", m, nil); err != nil {
			h.refuseLogin(err) // whatever its code: Qwen says -32603 if the key is missing
			return
		}
		h.openSession()
	})
}

// openSession continues the conversation, or begins a new one.
func (h *host) openSession() {
	id := h.launch.ResumeID
	request := protocol.SessionRequest{SessionID: id, Cwd: h.launch.WorkDir, MCPServers: h.servers()}
	switch agent := h.peer.agent; {
	case id == "":
		h.newSession()
	case agent.Resume:
		h.again("session/resume", request)
	case agent.Load:
		h.again("session/load", request)
	default:
		h.notResumed("the agent cannot continue a conversation")
		h.newSession()
	}
}

// again continues a conversation. The transcript already has what the agent replays.
func (h *host) again(method string, r protocol.SessionRequest) {
	h.peer.session, h.peer.replaying = r.SessionID, true
	h.peer.call(method, r, func(m wire.Message) {
		h.peer.replaying = false
		var s protocol.SessionResult
		err := decode(method, m, &s)
		if m.Err != nil && m.Err.Code == codeAuth {
			h.refuse(m, err)
			return
		}
		if err != nil {
			h.peer.session = ""
			h.notResumed(err.Error())
			h.newSession()
			return
		}
		h.resumed = true
		if method != "session/load" {
			h.opened(s)
			return
		}
		h.conv.Open(s)
		h.peer.late, h.peer.repeated = true, time.Now()
		h.afterReplay(time.Now().Add(replayTime))
	})
}

// afterReplay goes on when the agent repeats nothing more: Gemini answers session/load
// first. What it repeats must not count as its reaction to a message.
func (h *host) afterReplay(limit time.Time) {
	h.loop.after(replayQuiet/4, func() {
		if now := time.Now(); now.Sub(h.peer.repeated) < replayQuiet && now.Before(limit) {
			h.afterReplay(limit)
			return
		}
		h.peer.late = false
		if h.phase == control.PhaseStarting {
			h.configure()
		}
	})
}

// notResumed records that a conversation is not continued.
func (h *host) notResumed(why string) {
	h.notice = "a new conversation: " + clean(why)
	h.conv.AddNotice(h.notice)
	h.changed()
}

func (h *host) newSession() {
	r := protocol.NewSessionRequest{Cwd: h.launch.WorkDir, MCPServers: h.servers()}
	h.peer.call("session/new", r, func(m wire.Message) {
		var s protocol.SessionResult
		if err := decode("session/new", m, &s); err != nil {
			h.refuse(m, err)
			return
		}
		if s.SessionID == "" {
			h.fail(control.Failure{Kind: control.FailOther, Message: "session/new: the answer has no session id"})
			return
		}
		h.peer.session = s.SessionID
		h.opened(s)
	})
}

// servers are the MCP servers in the protocol's form; those of a transport that the
// agent lacks are left out, with a line.
func (h *host) servers() []protocol.MCPServer {
	out := []protocol.MCPServer{}
	for _, s := range h.launch.MCPServers {
		if s.Type == "http" && !h.peer.agent.HTTP || s.Type == "sse" && !h.peer.agent.SSE {
			h.conv.AddNotice(fmt.Sprintf("MCP server %s: the agent has no transport %s", s.Name, s.Type))
			continue
		}
		out = append(out, protocol.MCPServer{Name: s.Name, Type: s.Type, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers})
	}
	return out
}

// opened takes over what the agent says of the session.
func (h *host) opened(s protocol.SessionResult) {
	h.conv.Open(s)
	h.configure()
}

// configure sets mode and model of the session.
func (h *host) configure() {
	h.set(h.launch.Mode, h.launch.Model, func(e *control.Error) {
		if e != nil {
			h.fail(control.Failure{Kind: control.FailOther, Message: e.Message + validText(e.Valid)})
			return
		}
		h.ready()
	})
}

func validText(valid []string) string {
	if len(valid) == 0 {
		return ""
	}
	return "; valid values: " + strings.Join(valid, ", ")
}

// ready ends the handshake. The first message is one like any other.
func (h *host) ready() {
	h.phase = control.PhaseReady
	h.record.started(h.peer.agent.Name(), h.peer.session)
	h.turns.recover()
	if h.launch.Prompt != "" {
		first := control.Nudge{ID: "first-" + h.asks.incarnation, Blocks: []control.Block{{Text: h.launch.Prompt}}}
		h.turns.deliver(first, make(chan control.Receipt, 1))
	}
	h.turns.next()
	h.changed()
}

// set changes mode and then model; "" leaves one unchanged.
func (h *host) set(mode, model string, then func(*control.Error)) {
	h.setOne("mode", mode, func(e *control.Error) {
		if e != nil {
			then(e)
			return
		}
		h.setOne("model", model, func(e *control.Error) {
			h.changed()
			then(e)
		})
	})
}

// setOne sets the mode or the model: by the configuration option of that category,
// else a mode by session/set_mode.
func (h *host) setOne(what, want string, then func(*control.Error)) {
	list, current := h.conv.Modes(), h.conv.Mode()
	if what == "model" {
		list, current = h.conv.Models(), h.conv.Model()
	}
	if want == "" || h.peer.session == "" {
		then(nil)
		return
	}
	i := slices.IndexFunc(list, func(c conversation.Choice) bool { return c.ID == want || strings.EqualFold(c.Name, want) })
	if i < 0 {
		then(&control.Error{Code: control.CodeNotFound, Message: fmt.Sprintf("the agent has no %s %q", what, clean(want)), Valid: ids(list)})
		return
	}
	id := list[i].ID
	if id == current {
		then(nil)
		return
	}
	method, params := h.setter(what, id)
	if method == "" {
		then(&control.Error{Code: control.CodeNotFound, Message: "the agent's " + what + " cannot be changed"})
		return
	}
	h.peer.call(method, params, func(m wire.Message) {
		var r protocol.ConfigResult
		if err := decode(method, m, &r); err != nil {
			then(&control.Error{Code: control.CodeAgent, Message: err.Error()})
			return
		}
		h.conv.Set(what, id, r)
		then(nil)
	})
}

// setter is the request that sets the mode or the model, "" if there is none.
func (h *host) setter(what, id string) (method string, params any) {
	if option := h.conv.OptionOf(what); option != "" {
		return "session/set_config_option", protocol.SetConfigOptionRequest{SessionID: h.peer.session, ConfigID: option, Value: id}
	}
	if what == "mode" {
		return "session/set_mode", protocol.SetModeRequest{SessionID: h.peer.session, ModeID: id}
	}
	return "", nil
}

func ids(list []conversation.Choice) []string {
	out := make([]string, 0, len(list))
	for _, c := range list {
		out = append(out, c.ID)
	}
	return out
}
