package config

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/acp/rules"
	"gascity.dev/gc/internal/nearest"
	"gascity.dev/gc/internal/toml"
)

// ACP is [session.acp], the defaults of all agents, or [agents.acp]: how agents are
// hosted that speak the Agent Client Protocol.
type ACP struct {
	Permission string   `toml:"permission"` // answers the agent's questions
	Allow      []string `toml:"allow"`      // rules KIND or KIND:GLOB, before permission
	Deny       []string `toml:"deny"`       // before allow

	Auth  string `toml:"auth"` // id of the method to authenticate with
	Mode  string `toml:"mode"`
	Model string `toml:"model"`

	FS       bool `toml:"fs"`       // the agent may read and write files through gc
	Terminal bool `toml:"terminal"` // the agent may run commands through gc
	Record   bool `toml:"record"`   // keep every line exchanged with the agent

	HandshakeTimeout time.Duration `toml:"handshake_timeout"`
	AskTimeout       time.Duration `toml:"ask_timeout"` // 0: a question waits forever
	Where
}

// FormerKeys are keys of Gas City's that have no meaning here.
func (*ACP) FormerKeys() map[string]string {
	return map[string]string{
		"nudge_busy_timeout": "remove it: a message waits in the agent's queue until the turn ends",
		"output_lines":       "remove it: gc peek reads the session's scrollback, gc logs the whole transcript",
	}
}

// handshakeTimeout is the default of handshake_timeout.
const handshakeTimeout = time.Minute

// ACPAllow is the permission that allows what no rule decides.
const ACPAllow = rules.Allow

func (a *ACP) validate(out *toml.Report, where string) {
	oneOf(out, a.Place("permission"), where+"permission", a.Permission, rules.Permissions...)
	for key, rules := range map[string][]string{"allow": a.Allow, "deny": a.Deny} {
		for _, r := range rules {
			checkRule(out, a.Place(key), where+key, r)
		}
	}
	for key, text := range map[string]string{"auth": a.Auth, "mode": a.Mode, "model": a.Model} {
		if badText(text) {
			out.Add(a.Place(key), "", "%s%s: %q contains control characters", where, key, clip(text))
		}
	}
	if a.Has("handshake_timeout") && a.HandshakeTimeout == 0 {
		out.Add(a.Place("handshake_timeout"), `write "60s"`, "%shandshake_timeout must be longer than zero", where)
	}
}

// checkRule checks a rule of a policy: KIND or KIND:GLOB.
func checkRule(out *toml.Report, at Pos, key, rule string) {
	r, err := rules.Parse(rule)
	switch {
	case errors.Is(err, rules.ErrKind):
		hint := "kinds: " + strings.Join(rules.Kinds, ", ")
		if near := nearest.Of(r.Kind, rules.Kinds); near != "" {
			hint = "did you mean " + quote(near) + "? " + hint
		}
		out.Add(at, hint, "%s: rule %q: %q is not a kind of tool call", key, clip(rule), clip(r.Kind))
	case errors.Is(err, rules.ErrEmpty), badText(r.Pattern):
		out.Add(at, `write "`+r.Kind+`" for every call of the kind, or "`+r.Kind+`:GLOB"`, "%s: rule %q has no pattern", key, clip(rule))
	case err != nil:
		out.Add(at, "write a path below the work dir, or an absolute one", "%s: rule %q matches no path", key, clip(rule))
	}
}

// HostACP is the session provider of agents that speak the Agent Client Protocol.
const HostACP = "acp"

// The session providers that route to others: by the agent's session key, or by the name
// of its session.
const (
	HostAuto   = "auto"
	HostHybrid = "hybrid"
)

// IsRouter reports whether a session provider chooses one of several for each session.
func IsRouter(provider string) bool { return provider == HostAuto || provider == HostHybrid }

// HostedBy returns the provider that hosts an agent's session: selected, or if that
// is a router the one it routes to. session is the session's name.
func (c *City) HostedBy(selected, session, own string) string {
	switch selected {
	case HostAuto:
		if own == selected {
			own = ""
		}
		return cmp.Or(own, "native")
	case HostHybrid:
		for _, pattern := range c.Session.RemoteMatch {
			if ok, _ := path.Match(pattern, session); ok {
				return cmp.Or(c.Session.Remote, "k8s")
			}
		}
		return cmp.Or(c.Session.Local, "native")
	}
	return selected
}

// applyACP merges how the agent is hosted over ACP, the most specific last: what the
// preset says of its program, [session.acp], the city's providers, [agents.acp].
func (c *City) applyACP(r *Resolved, a *Agent) error {
	r.ACP.Permission, r.ACP.HandshakeTimeout = rules.Ask, handshakeTimeout
	chain, err := c.chain(r.Provider)
	if err != nil {
		return err
	}
	slices.Reverse(chain)
	presets := slices.IndexFunc(chain, func(l link) bool { return !l.preset })
	if presets < 0 {
		presets = len(chain)
	}
	for _, link := range chain[:presets] {
		c.layerOf(r, link).acpProgram(&link.p)
		r.AskingMode = link.p.ACPMode
	}
	layer{r: r, source: "session.acp", file: c.File, where: c.Session.ACP.Where}.acp(&c.Session.ACP)
	for _, link := range chain[presets:] {
		c.layerOf(r, link).acpProgram(&link.p)
	}
	set(layer{r: r, source: "agent", file: c.File, where: a.Where}, "acp_command", &r.ACPCommand, a.ACPCommand)
	if a.ACP != nil {
		layer{r: r, source: "agent", file: c.File, where: a.ACP.Where}.acp(a.ACP)
	}
	return nil
}

// acpProgram applies what a provider says of its program's ACP mode.
func (l layer) acpProgram(p *Provider) {
	set(l, "acp_command", &l.r.ACPCommand, p.ACPCommand)
	set(l, "acp_install", &l.r.ACPInstall, p.ACPInstall)
	set(l, "mcp_style", &l.r.MCPStyle, p.MCPStyle)
	set(l, "hooks_style", &l.r.HooksStyle, p.HooksStyle)
	if l.where.Has("acp_auth") {
		l.r.ACP.Auth, l.r.ACPAuthIf = p.ACPAuth, p.ACPAuthIf
		l.markAs("acp.auth", "acp_auth")
	}
	if l.where.Has("acp_mode") {
		l.r.ACP.Mode = p.ACPMode
		l.markAs("acp.mode", "acp_mode")
	}
}

// acp applies an acp table.
func (l layer) acp(a *ACP) {
	to := &l.r.ACP
	setAs(l, "acp.", "permission", &to.Permission, a.Permission)
	setAs(l, "acp.", "allow", &to.Allow, a.Allow)
	setAs(l, "acp.", "deny", &to.Deny, a.Deny)
	if setAs(l, "acp.", "auth", &to.Auth, a.Auth) {
		l.r.ACPAuthIf = ""
	}
	setAs(l, "acp.", "mode", &to.Mode, a.Mode)
	setAs(l, "acp.", "model", &to.Model, a.Model)
	setAs(l, "acp.", "fs", &to.FS, a.FS)
	setAs(l, "acp.", "terminal", &to.Terminal, a.Terminal)
	setAs(l, "acp.", "record", &to.Record, a.Record)
	setAs(l, "acp.", "handshake_timeout", &to.HandshakeTimeout, a.HandshakeTimeout)
	setAs(l, "acp.", "ask_timeout", &to.AskTimeout, a.AskTimeout)
}

// setAs is set for a key of a sub-table, and reports whether the layer has it.
func setAs[T any](l layer, prefix, key string, dst *T, src T) bool {
	if !l.where.Has(key) {
		return false
	}
	*dst = src
	l.markAs(prefix+key, key)
	return true
}

// acpPermissions is applyPermissions for an agent that is hosted over ACP: the
// levels' flags are for its program on a terminal.
func (r *Resolved) acpPermissions(a *Agent) {
	r.Unchecked = r.ACP.Permission == ACPAllow && len(r.ACP.Deny) == 0
	if a.Permissions != "" {
		r.refuse(a, "set permission, allow and deny in [agents.acp]", "permissions = %q has no effect: its session is acp", a.Permissions)
	}
}

// checkACP reports an agent that cannot be hosted over ACP.
func (c *City) checkACP(a *Agent, r *Resolved, where string, out *toml.Report) {
	if a.ACP != nil {
		a.ACP.validate(out, where+": acp.")
	}
	checkTemplates(out, a.Place("acp_command"), where+": acp_command", a.ACPCommand)
	if !IsACP(r.Session) || r.ACPCommand != "" {
		return
	}
	at := a.Place("session")
	if !a.Has("session") {
		at = a.At
	}
	hint := `add acp_command = "PROGRAM ARGS", which starts the program as an ACP agent on its standard input and output`
	if with := c.withACP(); len(with) > 0 {
		hint += "; presets with one: " + strings.Join(with, ", ")
	}
	out.Add(at, hint, "%s: session = %q, but %s has no acp_command", where, clip(r.Session), r.runs())
}

// withACP names the presets that have an acp_command.
func (c *City) withACP() []string {
	return slices.DeleteFunc(sortedKeys(c.presets), func(name string) bool { return c.presets[name].ACPCommand == "" })
}

// Asks reports whether the agent asks before it acts in a mode: if that is the one in
// which its program asks. why says why not, or why that is unknown.
func (r *Resolved) Asks(mode string) (yes bool, why string) {
	switch {
	case r.AskingMode == "" && r.Family == "opencode":
		return false, "opencode asks only what its own permission setting says (opencode.json)"
	case r.AskingMode == "":
		return false, "gc does not know in which mode the program asks"
	case mode == "":
		return false, "no mode is set, and the program may decide itself; it asks in mode " + quote(r.AskingMode)
	case mode != r.AskingMode:
		return false, "in mode " + quote(mode) + " the agent may decide itself; it asks in mode " + quote(r.AskingMode)
	}
	return true, ""
}

// unusedACP finds keys of an agent that have no effect where it is hosted.
func (c *City) unusedACP(a *Agent, r *Resolved, where string, out *toml.Report) {
	switch {
	case IsACP(r.Session) && a.Has("args"):
		out.Add(a.Place("args"), "write them in acp_command", "%s: args has no effect: its session is acp", where)
	case IsACP(r.Session) || c.mayRouteToACP(r):
		return
	case a.ACP != nil:
		out.Add(a.ACP.At, `add session = "acp"`, "%s: acp has no effect: its session is not acp", where)
	}
	if len(a.MCPServers) > 0 && r.MCPStyle == "" {
		out.Add(a.Place("mcp_servers"), `configure them in the program itself, or add session = "acp"`,
			"%s: mcp_servers has no effect: %s takes no MCP servers from its command line", where, r.runs())
	}
}

// mayRouteToACP reports whether the agent's host depends on its session's name and
// may be acp.
func (c *City) mayRouteToACP(r *Resolved) bool {
	return r.Session == HostHybrid && (IsACP(c.Session.Local) || IsACP(c.Session.Remote))
}
