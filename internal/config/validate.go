package config

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"gascity.dev/gc/internal/conversation"
	"gascity.dev/gc/internal/hooks"
	"gascity.dev/gc/internal/nearest"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/toml"
)

// SessionProviders are the values of [session] provider that this program
// supports; "exec:" is followed by a script.
func SessionProviders() []string {
	return []string{"native", "tmux", "subprocess", "acp", "k8s", "exec:<script>", "ssh://<host>", "acp+ssh://<host>", "acp+k8s", "auto", "hybrid"}
}

// otherProviders are also valid: fake is for tests.
var otherProviders = []string{"fake"}

// ValidSessionProvider reports whether name selects a session provider.
func ValidSessionProvider(name string) bool {
	if script, ok := strings.CutPrefix(name, "exec:"); ok {
		return script != ""
	}
	if IsHost(name) {
		return hostProblem(name) == ""
	}
	return name != "exec:<script>" && (slices.Contains(SessionProviders(), name) || slices.Contains(otherProviders, name))
}

// overACP is before the URL of another machine whose agents speak the Agent Client
// Protocol.
const overACP = HostACP + "+"

// IsHost reports whether a session provider is another machine, as ssh://[user@]HOST[:port],
// or acp+ssh:// for agents that speak the Agent Client Protocol there.
func IsHost(provider string) bool { return strings.HasPrefix(HostURL(provider), "ssh://") }

// HostURL returns the machine's URL of a session provider for which IsHost is true, and
// HostPods for one for which IsPods is.
func HostURL(provider string) string { return strings.TrimPrefix(provider, overACP) }

// IsACP reports whether a session provider hosts agents that speak the Agent Client
// Protocol.
func IsACP(provider string) bool { return provider == HostACP || strings.HasPrefix(provider, overACP) }

// hostProblem is what is wrong with the URL of another machine; "" if nothing is.
func hostProblem(name string) string {
	u, err := url.Parse(HostURL(name))
	switch {
	case err != nil || u.Hostname() == "" || strings.ContainsAny(name, "<> ") || strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "want ssh://[user@]HOST[:port]"
	case strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-"):
		return "a name does not start with -"
	}
	if _, has := u.User.Password(); has {
		return "a password here can be read by every process; use a key"
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return "no such port: " + p
		}
	}
	return ""
}

// validate checks everything that a value's type does not express.
func (c *City) validate(out *toml.Report) {
	c.validateWorkspace(out)
	c.validateProviders(out)
	c.validateMCPServers(out)
	c.validateRigs(out)
	names := c.validateNames(out)
	for i := range c.Agents {
		c.validateAgent(&c.Agents[i], out)
	}
	c.validateDepends(names, out)
	c.validateSession(out)
	c.validateDaemon(out)
	c.validateNotify(out)
	c.validateTables(out)
}

func (c *City) validateWorkspace(out *toml.Report) {
	w := &c.Workspace
	switch {
	case w.At == Pos{} && out.Truncated():
	case w.At == Pos{}:
		out.Add(Pos{}, `add [workspace] with name = "my-city"`, "no [workspace] table")
	case w.Name == "" && !w.Has("name"):
		out.Add(w.At, `add name = "my-city"`, "[workspace] has no name")
	case w.Name == "" || len(w.Name) > 100 || badText(w.Name) || strings.Contains(w.Name, "/"):
		out.Add(w.Place("name"), "use 1 to 100 letters, digits, '.', '_' or '-'", "workspace.name: %q is not a valid city name", clip(w.Name))
	}
	c.checkProvider(w.Provider, w.Place("provider"), "workspace.provider", out)
	checkTemplates(out, w.Place("start_command"), "workspace.start_command", w.StartCommand)
	oneOf(out, w.Place("permissions"), "workspace.permissions", w.Permissions, PermissionLevels()...)
	oneOf(out, w.Place("mail"), "workspace.mail", w.Mail, mailModes...)
	d := &c.AgentDefaults
	oneOf(out, d.Place("mail"), "agent_defaults.mail", d.Mail, mailModes...)
	d.Care.validate(out, d.Where, "agent_defaults.")
	oneOf(out, d.Place("permissions"), "agent_defaults.permissions", d.Permissions, PermissionLevels()...)
}

// badText reports control characters.
func badText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// known returns a provider of the city, or else a preset.
func (c *City) known(name string) (Provider, bool) {
	if p, ok := c.Providers[name]; ok {
		return p, true
	}
	p, ok := c.presets[name]
	return p, ok
}

func (c *City) checkProvider(name string, at Pos, key string, out *toml.Report) {
	if name == "" {
		return
	}
	if _, ok := c.known(name); ok {
		return
	}
	all := append(sortedKeys(c.Providers), sortedKeys(c.presets)...)
	hint := "presets: " + strings.Join(sortedKeys(c.presets), ", ")
	if near := nearest.Of(name, all); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	out.Add(at, hint, "%s: no provider is named %q", key, clip(name))
}

func (c *City) validateProviders(out *toml.Report) {
	for _, name := range sortedKeys(c.Providers) {
		p := c.Providers[name]
		where := "providers." + name
		if name == "" || badText(name) {
			out.Add(p.At, "", "%q is not a valid provider name", name)
		}
		if p.Base != name { // a table with a preset's name may start from the preset
			c.checkProvider(p.Base, p.Place("base"), where+".base", out)
		} else if _, ok := c.presets[name]; !ok && p.Base != "" {
			out.Add(p.Place("base"), "", "%s.base: %q is its own base", where, name)
		}
		if _, ok := c.presets[name]; !ok && p.Base == "" && p.Command == "" {
			out.Add(p.At, `add base = "claude", or command = "..."`, "%s has neither base nor command", where)
		}
		c.checkCycle(name, out)
		oneOf(out, p.Place("resume_style"), where+".resume_style", p.ResumeStyle, ResumeByFlag, ResumeSubcommand)
		checkConversation(out, &p, where)
		checkHints(out, &p.Hints, p.Where, where+".")
		checkTemplates(out, p.Place("acp_command"), where+".acp_command", p.ACPCommand)
		oneOf(out, p.Place("mcp_style"), where+".mcp_style", p.MCPStyle, MCPStyles()...)
		oneOf(out, p.Place("hooks_style"), where+".hooks_style", p.HooksStyle, hooks.Styles()...)
		checkTemplates(out, p.Place("command"), where+".command", p.Command)
		checkTemplates(out, p.Place("args"), where+".args", p.Args...)
		for _, level := range sortedKeys(p.Permissions) {
			oneOf(out, p.Permissions[level].At, where+".permissions", level, PermissionLevels()...)
		}
	}
}

// checkCycle reports a base chain that returns to name, once per cycle: at its
// first member by name.
func (c *City) checkCycle(name string, out *toml.Report) {
	chain := []string{name}
	for cur := name; ; {
		p, ok := c.Providers[cur]
		if !ok || p.Base == "" || p.Base == cur {
			return
		}
		cur = p.Base
		if cur == name {
			if slices.Min(chain) == name {
				out.Add(c.Providers[name].Place("base"), "a chain of bases must end at a preset or a provider without base",
					"providers.%s.base: cycle %s", name, strings.Join(append(chain, name), " -> "))
			}
			return
		}
		if slices.Contains(chain, cur) {
			return
		}
		chain = append(chain, cur)
	}
}

// checkHints checks the shared keys; where is a prefix for a key.
func checkHints(out *toml.Report, h *Hints, w Where, where string) {
	oneOf(out, w.Place("prompt_mode"), where+"prompt_mode", h.PromptMode, PromptArg, PromptFlag, PromptNone)
	if h.ReadyDelayMS < 0 {
		out.Add(w.Place("ready_delay_ms"), "", "%sready_delay_ms: %d is negative", where, h.ReadyDelayMS)
	}
	for _, name := range h.ProcessNames {
		if name == "" || badText(name) || strings.Contains(name, "/") {
			out.Add(w.Place("process_names"), "write the program's name without its directory, as in ps -o comm",
				"%sprocess_names: no process is named %q", where, clip(name))
		}
	}
	checkInherit(out, w.Place("inherit_env"), where, h.InheritEnv)
	for _, k := range sortedKeys(h.Env) {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(h.Env[k], "\x00") {
			out.Add(w.Place("env"), "", "%senv: %q cannot be set as an environment variable", where, clip(k))
		}
	}
}

// oneOf reports a value that is set and not allowed.
func oneOf(out *toml.Report, at Pos, key, value string, allowed ...string) {
	if value == "" || slices.Contains(allowed, value) {
		return
	}
	hint := "valid: " + strings.Join(allowed, ", ")
	if near := nearest.Of(value, allowed); near != "" {
		hint = "did you mean " + quote(near) + "? " + hint
	}
	out.Add(at, hint, "%s: %q is not valid", key, clip(value))
}

// checkTemplates reports templates that fail.
func checkTemplates(out *toml.Report, at Pos, key string, texts ...string) {
	for _, t := range texts {
		if _, err := Expand(t, Vars{}); err != nil {
			out.Add(at, "templates may use Session, Agent, AgentBase, Rig, RigRoot, CityRoot, CityName, WorkDir, ConfigDir", "%s: %v", key, err)
		}
		if strings.Contains(t, "\x00") {
			out.Add(at, "", "%s contains a NUL byte", key)
		}
	}
}

func (c *City) validateRigs(out *toml.Report) {
	first := map[string]Pos{}
	for i := range c.Rigs {
		r := &c.Rigs[i]
		if r.Name == "" {
			out.Add(r.Place("name"), `add name = "my-project"`, "[[rigs]] has no name")
		} else if !validName(r.Name) {
			out.Add(r.Place("name"), "", "rigs.name: %q is not a valid rig name", clip(r.Name))
		} else if at, dup := first[r.Name]; dup {
			out.Add(r.Place("name"), "", "rig %q is defined twice, first on line %d", r.Name, at.Line)
		} else {
			first[r.Name] = r.Place("name")
		}
		if r.Path == "" {
			out.Add(r.Place("path"), `add path = "../my-project"`, "rig %q has no path", clip(r.Name))
		}
	}
}

func (c *City) validateSession(out *toml.Report) {
	s := &c.Session
	checkSession(out, s.Place("provider"), "session.provider", s.Provider)
	checkSide(out, s.Place("local"), "session.local", s.Local)
	checkSide(out, s.Place("remote"), "session.remote", s.Remote)
	if s.ScrollbackLines < 0 {
		out.Add(s.Place("scrollback_lines"), "", "session.scrollback_lines: %d is negative", s.ScrollbackLines)
	}
	s.ACP.validate(out, "session.acp.")
	c.validateK8s(out)
	for _, p := range s.RemoteMatch {
		if _, err := path.Match(p, ""); err != nil {
			out.Add(s.Place("remote_match"), "", "session.remote_match: %q is not a pattern", clip(p))
		}
	}
}

func checkSession(out *toml.Report, at Pos, key, name string) {
	if name == "" || ValidSessionProvider(name) {
		return
	}
	problem := hostProblem(name)
	if IsHost(name) {
		if u, err := url.Parse(name); err == nil {
			name = u.Redacted()
		}
		out.Add(at, "", "%s: %q: %s", key, clip(name), problem)
		return
	}
	out.Add(at, "valid: "+strings.Join(SessionProviders(), ", "), "%s: %q is not a session provider", key, clip(name))
}

// checkSide is checkSession for a backend that hosts sessions itself.
func checkSide(out *toml.Report, at Pos, key, name string) {
	if IsRouter(name) {
		out.Add(at, "", "%s: %q cannot host sessions itself", key, name)
		return
	}
	checkSession(out, at, key, name)
}

func (c *City) validateDaemon(out *toml.Report) {
	d := &c.Daemon
	if d.MaxRestarts < 0 {
		out.Add(d.Place("max_restarts"), "0 means no limit", "daemon.max_restarts: %d is negative", d.MaxRestarts)
	}
	if d.MaxParallelStarts < 1 {
		out.Add(d.Place("max_parallel_starts"), "", "daemon.max_parallel_starts is %d, want at least 1", d.MaxParallelStarts)
	}
	if d.PatrolInterval <= 0 {
		out.Add(d.Place("patrol_interval"), `write "30s"`, "daemon.patrol_interval must be longer than zero")
	}
	if d.RestartWindow <= 0 {
		out.Add(d.Place("restart_window"), `write "1h"`, "daemon.restart_window must be longer than zero")
	}
	checkInherit(out, d.Place("inherit_env"), "daemon.", d.InheritEnv)
}

// checkInherit checks names of variables and "PREFIX_*" patterns.
func checkInherit(out *toml.Report, at Pos, where string, names []string) {
	for _, k := range names {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(strings.TrimSuffix(k, "*"), "*") {
			out.Add(at, `write names, "AWS_PROFILE" or "AWS_*"`, "%sinherit_env: %q is not the name of a variable", where, clip(k))
		}
	}
}

func (c *City) validateTables(out *toml.Report) {
	for i := range c.Dialogs {
		d := &c.Dialogs[i]
		if d.Name == "" {
			out.Add(d.Place("name"), "", "[[dialogs]] has no name")
		}
		if len(d.Detect) == 0 {
			out.Add(d.Place("detect"), "name the texts that identify the dialog", "dialog %q has no detect texts", clip(d.Name))
		}
		oneOf(out, d.Place("when"), "dialogs.when", d.When, WhenStartup, WhenReport)
		if d.When != WhenReport && !slices.Contains(d.Options, d.Wanted) {
			out.Add(d.Place("wanted"), `list the labels in options and the one to select in wanted, or write when = "report"`,
				"dialog %q: wanted %q is not among its options", clip(d.Name), clip(d.Wanted))
		}
	}
	for i := range c.StatusRules {
		r := &c.StatusRules[i]
		r.validate(out)
		c.checkProvider(r.Provider, r.Place("provider"), "status_rules.provider", out)
	}
	for i := range c.LimitRules {
		r := &c.LimitRules[i]
		r.validate(out)
		c.checkProvider(r.Provider, r.Place("provider"), "limit_rules.provider", out)
	}
	if c.API.Port < 0 || c.API.Port > 65535 {
		out.Add(c.API.Place("port"), "0 means off", "api.port: %d is not a port", c.API.Port)
	}
}

func (r *StatusRule) validate(out *toml.Report) {
	if r.Name == "" {
		out.Add(r.Place("name"), "", "[[status_rules]] has no name")
	}
	if r.State == "" {
		out.Add(r.Place("state"), "", "status rule %q has no state", clip(r.Name))
	}
	oneOf(out, r.Place("state"), "status_rules.state", r.State, rule.States...)
	oneOf(out, r.Place("kind"), "status_rules.kind", r.Kind, rule.Kinds...)
	oneOf(out, r.Place("region"), "status_rules.region", r.Region, rule.Regions...)
	if r.SettleMS < 0 {
		out.Add(r.Place("settle_ms"), "", "status rule %q: settle_ms is negative", clip(r.Name))
	}
	if r.Kind != "" && r.State != rule.StateBlocked {
		out.Add(r.Place("kind"), `leave it out, or write state = "blocked"`, "status rule %q: kind requires state = \"blocked\"", clip(r.Name))
	}
	if len(r.All)+len(r.Any) == 0 {
		out.Add(r.Place("all"), "add texts that appear on the screen", "status rule %q has no text in all or any", clip(r.Name))
	}
	for key, list := range map[string][]string{"all": r.All, "any": r.Any, "not": r.Not} {
		if slices.Contains(list, "") {
			out.Add(r.Place(key), "", "status rule %q: empty text in %s", clip(r.Name), key)
		}
	}
}

// checkConversation checks where a program keeps its conversations.
func checkConversation(out *toml.Report, p *Provider, where string) {
	switch {
	case (p.ConversationDir == "") != (p.ConversationFiles == ""):
		out.Add(p.At, "set both, or neither", "%s: conversation_dir and conversation_files belong together", where)
	case p.ConversationFiles != "" && !strings.Contains(p.ConversationFiles, "{id}"):
		out.Add(p.Place("conversation_files"), `as in "{id}.jsonl"`, "%s.conversation_files: {id} is missing", where)
	case p.ConversationFrom == conversation.OpenFile && p.ConversationFiles == "" && p.Base == "":
		out.Add(p.Place("conversation_from"), `add conversation_files = "{id}.jsonl"`, "%s.conversation_from: conversation_files is missing", where)
	}
	oneOf(out, p.Place("conversation_from"), where+".conversation_from", p.ConversationFrom, conversation.OpenFile, conversation.OpenCodeLog)
}
