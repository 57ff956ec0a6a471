package host

import (
	"gascity.dev/gc/internal/acp/commands"
	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
)

// commandAccess carries out the agent's requests for commands, under the policy: a
// command is of the kind execute. A terminal of the protocol is a command's output.
type commandAccess struct {
	h   *host
	set *commands.Set // nil: the agent may not ask
}

// request takes a request about commands.
func (a *commandAccess) request(m wire.Message) {
	if m.Method == protocol.MethodTerminalCreate {
		a.create(m)
		return
	}
	var r protocol.TerminalRef
	err := protocol.DecodeExact(m.Params, &r)
	if err != nil || r.SessionID != a.h.peer.session {
		a.h.peer.fail(m.ID, wire.CodeInvalidParams, "a terminal is named by its id, in this session")
		return
	}
	c, err := a.set.Get(r.TerminalID)
	if err != nil {
		a.h.peer.fail(m.ID, wire.CodeInvalidParams, err.Error())
		return
	}
	switch m.Method {
	case protocol.MethodTerminalOutput:
		out := protocol.TerminalOutput{Exit: exitOf(c)} // first: the output of a command that has ended is whole
		out.Output, out.Truncated = c.Output()
		a.h.conv.Printed(r.TerminalID, out.Output, true)
		a.h.peer.reply(m.ID, out)
	case protocol.MethodTerminalWait:
		go func() { // ends with the command, which ends with the host
			<-c.Done()
			a.h.loop.post(func() {
				a.printed(r.TerminalID, c)
				a.h.peer.reply(m.ID, exitOf(c))
			})
		}()
	case protocol.MethodTerminalKill:
		c.Kill()
		a.h.peer.reply(m.ID, protocol.Empty)
	default:
		_ = a.set.Release(r.TerminalID) // it is there
		a.h.peer.reply(m.ID, protocol.Empty)
	}
}

// create takes terminal/create.
func (a *commandAccess) create(m wire.Message) {
	var r protocol.TerminalRequest
	if err := protocol.DecodeExact(m.Params, &r); err != nil || r.SessionID != a.h.peer.session {
		a.h.peer.fail(m.ID, wire.CodeInvalidParams, "a command is named, in this session")
		return
	}
	spec := commands.Spec{Command: r.Command, Dir: r.Cwd}
	if len(r.Args) > 0 {
		spec.Args = r.Args
	}
	if r.OutputLimit != nil {
		spec.Limit = *r.OutputLimit
	}
	for _, v := range r.Env {
		spec.Env = append(spec.Env, v.Name+"="+v.Value)
	}
	if err := a.set.Check(spec); err != nil {
		a.h.peer.fail(m.ID, wire.CodeInvalidParams, err.Error())
		return
	}
	line := spec.Line()
	tool := conversation.Tool{Kind: "execute", Title: clean(line), Command: line}
	a.h.permit(m, tool, func() (any, error) {
		id, err := a.set.Start(spec)
		if err == nil {
			a.show(id)
		}
		return protocol.TerminalResult{TerminalID: id}, err
	})
}

// show lets the tool calls that name a command show what it has printed, once it has
// ended.
func (a *commandAccess) show(id string) {
	c, err := a.set.Get(id)
	if err != nil {
		return // it has just been started
	}
	go func() { // ends with the command, which ends with the host
		<-c.Done()
		a.h.loop.post(func() { a.printed(id, c) })
	}()
}

// printed lets the tool calls that name a command show what it has printed so far.
func (a *commandAccess) printed(id string, c *commands.Command) {
	text, _ := c.Output()
	a.h.conv.Printed(id, text, true)
	a.h.screen.dirty()
}

// exitOf is how a command ended, nil while it runs.
func exitOf(c *commands.Command) *protocol.ExitStatus {
	code, sig, ok := c.Exit()
	switch {
	case !ok:
		return nil
	case sig != "":
		return &protocol.ExitStatus{Signal: sig}
	}
	return &protocol.ExitStatus{Code: &code}
}
