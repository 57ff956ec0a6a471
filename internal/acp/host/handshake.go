package host

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/acp/control"
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

// handshake is the start of an agent, up to the moment when it takes messages.
type handshake struct {
	h       *host
	resumed bool   // the conversation continues an earlier one
	notice  string // what is not as configured: a new conversation, a server that is left out
	servers []protocol.MCPServer
}

// begin starts the handshake: initialize, authenticate, a session, mode, model.
func (hs *handshake) begin() {
	limit := cmp.Or(hs.h.launch.HandshakeTimeout, handshakeTime)
	hs.h.loop.after(limit, func() {
		hs.h.life.fail(control.Failure{Kind: control.FailOther, Message: fmt.Sprintf("the agent was not ready after %v", limit)})
	})
	hs.h.peer.call("initialize", protocol.Initialize(hs.h.launch.Version, hs.h.launch.FS, hs.h.launch.Terminal), hs.initialized)
}

// refuse ends the start with the agent's error.
func (hs *handshake) refuse(m wire.Message, err error) {
	if m.Err != nil && m.Err.Code == codeAuth {
		hs.refuseLogin(err)
		return
	}
	hs.h.life.fail(control.Failure{Kind: control.FailOther, Message: err.Error()})
}

// refuseLogin ends the start of an agent that requires a login.
func (hs *handshake) refuseLogin(err error) {
	hs.h.life.fail(control.Failure{Kind: control.FailAuth, Message: hs.h.peer.loginText(err), Methods: hs.h.peer.agent.Methods()})
}

func (hs *handshake) initialized(m wire.Message) {
	if err := decode("initialize", m, &hs.h.peer.agent); err != nil {
		hs.refuse(m, err)
		return
	}
	if v := hs.h.peer.agent.ProtocolVersion; v.Number() != protocol.Version {
		hs.h.life.fail(control.Failure{Kind: control.FailOther, Message: fmt.Sprintf("the agent speaks version %s of the protocol, gc speaks version %d", v, protocol.Version)})
		return
	}
	hs.servers = hs.chooseServers()
	if hs.h.launch.Auth == "" {
		hs.openSession()
		return
	}
	hs.h.peer.call("authenticate", protocol.AuthenticateRequest{MethodID: hs.h.launch.Auth}, func(m wire.Message) {
		if err := decode("authenticate", m, nil); err != nil {
			hs.refuseLogin(fmt.Errorf("by %s: %w", hs.h.launch.Auth, err)) // whatever its code: Qwen says -32603 if the key is missing
			return
		}
		hs.openSession()
	})
}

// openSession continues the conversation, or begins a new one.
func (hs *handshake) openSession() {
	id := hs.h.launch.ResumeID
	request := protocol.SessionRequest{SessionID: id, Cwd: hs.h.launch.WorkDir, MCPServers: hs.servers}
	switch agent := hs.h.peer.agent; {
	case id == "":
		hs.newSession()
	case agent.Resume:
		hs.again("session/resume", request)
	case agent.Load:
		hs.again("session/load", request)
	default:
		hs.notResumed("the agent cannot continue a conversation")
		hs.newSession()
	}
}

// again continues a conversation. The transcript already has what the agent replays.
func (hs *handshake) again(method string, r protocol.SessionRequest) {
	hs.h.peer.session, hs.h.peer.replaying = r.SessionID, true
	hs.h.peer.call(method, r, func(m wire.Message) {
		hs.h.peer.replaying = false
		var s protocol.SessionResult
		err := decode(method, m, &s)
		if m.Err != nil && m.Err.Code == codeAuth {
			hs.refuse(m, err)
			return
		}
		if err != nil {
			hs.h.peer.session = ""
			hs.notResumed(err.Error())
			hs.newSession()
			return
		}
		hs.resumed = true
		if method != "session/load" && hs.h.peer.repeated.IsZero() { // some agents repeat it even so
			hs.opened(s)
			return
		}
		hs.h.conv.Open(s)
		hs.h.peer.late, hs.h.peer.repeated = true, time.Now()
		hs.afterReplay(time.Now().Add(replayTime))
	})
}

// afterReplay goes on when the agent repeats nothing more: Gemini answers session/load
// first. What it repeats must not count as its reaction to a message.
func (hs *handshake) afterReplay(limit time.Time) {
	hs.h.loop.after(replayQuiet/4, func() {
		if now := time.Now(); now.Sub(hs.h.peer.repeated) < replayQuiet && now.Before(limit) {
			hs.afterReplay(limit)
			return
		}
		hs.h.peer.late = false
		if hs.h.life.phase == control.PhaseStarting {
			hs.configure()
		}
	})
}

// notResumed records that a conversation is not continued.
func (hs *handshake) notResumed(why string) {
	hs.say("a new conversation: " + clean(why))
}

// say shows a line about the start, also where a person looks at the agent's state.
func (hs *handshake) say(text string) {
	if hs.notice != "" {
		hs.notice += "; "
	}
	hs.notice += text
	hs.h.conv.AddNotice(text)
	hs.h.changed()
}

func (hs *handshake) newSession() {
	r := protocol.NewSessionRequest{Cwd: hs.h.launch.WorkDir, MCPServers: hs.servers}
	hs.h.peer.call("session/new", r, func(m wire.Message) {
		var s protocol.SessionResult
		if err := decode("session/new", m, &s); err != nil {
			hs.refuse(m, err)
			return
		}
		if s.SessionID == "" {
			hs.h.life.fail(control.Failure{Kind: control.FailOther, Message: "session/new: the answer has no session id"})
			return
		}
		hs.h.peer.session = s.SessionID
		hs.opened(s)
	})
}

// chooseServers chooses the MCP servers that the agent gets, in the protocol's form;
// those of a transport that it lacks are left out, with a line.
func (hs *handshake) chooseServers() []protocol.MCPServer {
	out := []protocol.MCPServer{}
	for _, s := range hs.h.launch.MCPServers {
		if s.Type == "http" && !hs.h.peer.agent.HTTP || s.Type == "sse" && !hs.h.peer.agent.SSE {
			hs.say(fmt.Sprintf("MCP server %s: the agent has no transport %s", s.Name, s.Type))
			continue
		}
		out = append(out, protocol.MCPServer{Name: s.Name, Type: s.Type, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers})
	}
	return out
}

// opened takes over what the agent says of the session.
func (hs *handshake) opened(s protocol.SessionResult) {
	hs.h.conv.Open(s)
	hs.configure()
}

// configure sets the mode and the model of the session.
func (hs *handshake) configure() {
	hs.h.settings.begin(func(e *control.Error) {
		if e != nil {
			hs.h.life.fail(control.Failure{Kind: control.FailOther, Message: e.Message + validText(e.Valid)})
			return
		}
		hs.ready()
	})
}

func validText(valid []string) string {
	if len(valid) == 0 {
		return ""
	}
	return "; valid values: " + strings.Join(valid, ", ")
}

// ready ends the handshake. The first message is one like any other; a conversation that
// is continued has it already.
func (hs *handshake) ready() {
	hs.h.life.phase = control.PhaseReady
	hs.h.record.started(hs.h.peer.agent.Name(), hs.h.peer.session)
	hs.h.turns.recover()
	if hs.h.launch.Prompt != "" && !hs.h.start.resumed {
		first := control.Nudge{ID: "first-" + hs.h.asks.incarnation, Blocks: []control.Block{{Text: hs.h.launch.Prompt}}}
		hs.h.turns.deliver(first, make(chan control.Receipt, 1))
	}
	hs.h.turns.next()
	hs.h.changed()
}
