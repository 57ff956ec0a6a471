package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"gascity.dev/gc/runtime/k8s/settings"
)

// Origin is where a resolved value came from.
type Origin struct {
	Source string // "default", "preset claude", "providers.x", "workspace", "agent", "rig x"
	File   string // base name; empty for defaults
	Line   int    // 0 for defaults
}

// String returns "agent (city.toml:12)".
func (o Origin) String() string {
	if o.File == "" {
		return o.Source
	}
	return fmt.Sprintf("%s (%s:%d)", o.Source, o.File, o.Line)
}

// Resolved is everything an agent runs with: preset, provider, workspace and
// its own keys merged. Commands still contain their templates.
type Resolved struct {
	Name     string // qualified
	Base     string // bare
	Template string // qualified name of the [[agents]] entry; of a pool member, the pool
	Dir      string
	Rig      string // name of the rig, "" without one
	RigRoot  string // absolute
	WorkDir  string // absolute, not checked to exist

	Description string
	Suspended   bool   // the agent, its rig or the whole city
	Provider    string // name of the preset or [providers.X]; "" for a bare start_command
	Family      string // the preset at the end of the base chain, "" for none
	Session     string // the agent's own session provider, or the city's

	Command        string   // a shell command line; "" = the user's shell
	Args           []string // appended, one shell word each
	PromptMode     string
	PromptFlag     string
	PromptTemplate string
	Fragments      []string // global_fragments
	Nudge          string

	Permissions    string            // effective level; "" if none applies, or the user's own args decide
	PermissionArgs []string          // the level's flags, before Args
	PermissionEnv  map[string]string // the level's variables, below ProviderEnv
	Unchecked      bool              // the agent may do anything without asking
	// OtherLevels are the levels that an inherited one may have been, including
	// "": a session started with one of them is not out of date. nil if the
	// agent sets its own level.
	OtherLevels map[string]Level

	ProviderEnv map[string]string // $VAR not expanded yet
	AgentEnv    map[string]string
	InheritEnv  []string // in addition to what every agent of the city inherits

	ReadyPromptPrefix      string
	ReportsStatus          bool
	InterruptKeys          []string
	ReadyDelayMS           int
	ProcessNames           []string
	EmitsPermissionWarning bool
	AcceptStartupDialogs   *bool
	TextCommands           []string
	TextWords              []string
	TextOpeners            []string
	ResumedLines           []string
	TextMark               string
	ClearKeys              []string
	SupportsACP            bool
	SupportsHooks          bool
	InstructionsFile       string
	ResumeFlag             string
	ResumeStyle            string
	SessionIDFlag          string
	ConversationDir        string
	ConversationFiles      string
	ConversationFrom       string

	PreStart           []string
	SessionSetup       []string
	SessionSetupScript string
	SessionLive        []string
	OverlayDir         string
	OverlayProvider    string
	PackOverlays       []string
	InstallAgentHooks  []string
	CopyFiles          []CopyFile
	Mouse              bool
	Upstream           string
	MCPServers         []string // names; see City.MCPServer
	Lifecycle          string
	IdleTimeout        time.Duration
	DependsOn          []string // qualified
	WakeMode           string
	Mail               string // when it gets the notice of new mail
	Care
	Hooks  bool // give the program hooks that report its state
	Record bool // record the output of its sessions
	Attach bool
	Limits Limits
	Pods   settings.Settings // how its pod is made, without the environment: see Pod
	Pool   *Pool             // nil for an agent that is not a pool

	ACPCommand string // starts the program as an ACP agent; "" if it cannot be one
	ACPInstall string // the command that installs it, "" if unknown
	ACPAuthIf  string // the variable without which ACP.Auth does not count, "" for none
	ACP        ACP
	AskingMode string // the mode in which the preset's program asks; "" if unknown
	MCPStyle   string // how the program on a terminal gets its MCP servers; "" if it cannot
	HooksStyle string // how it gets hooks that report its state; "" if it cannot

	Origins map[string]Origin // by key of the file

	levels  map[string]Level // of the provider
	problem *Problem         // why the permission level is unavailable; nil if it is available
}

// Resolve merges everything that applies to the agent: built-in preset, the
// provider's chain of bases, [workspace], the agent's own keys. The error is
// about an unknown name.
func (c *City) Resolve(a *Agent) (Resolved, error) { return c.resolve(a, a.Name) }

// ResolveMember is Resolve for a pool member, by its bare name.
func (c *City) ResolveMember(a *Agent, member string) (Resolved, error) {
	r, err := c.resolve(a, member)
	r.Pool = nil
	return r, err
}

// Agent finds an agent by its qualified name, or by a unique bare name.
func (c *City) Agent(name string) (*Agent, bool) {
	var byBase *Agent
	for i := range c.Agents {
		a := &c.Agents[i]
		if a.QualifiedName() == name {
			return a, true
		}
		if a.Name == name {
			if byBase != nil {
				return nil, false
			}
			byBase = a
		}
	}
	return byBase, byBase != nil
}

func (c *City) resolve(a *Agent, bare string) (Resolved, error) {
	r := Resolved{
		Name: qualify(a.Dir, bare), Base: bare, Template: a.QualifiedName(), Dir: a.Dir,
		PromptMode: PromptArg, WakeMode: WakeResume, Mail: MailIdle, Hooks: true, Attach: true,
		Care: Care{StuckAfter: defaultStuckAfter, OnStuck: OnStuckReport}, Suspended: a.Suspended || c.Workspace.Suspended,
		ProviderEnv: map[string]string{}, AgentEnv: map[string]string{}, Origins: map[string]Origin{},
	}
	for _, k := range []string{"prompt_mode", "wake_mode", "mail", "hooks", "attach", "stuck_after", "on_stuck"} {
		r.Origins[k] = Origin{Source: "default"}
	}
	if err := c.applyProvider(&r, a); err != nil {
		return r, err
	}
	c.applyWorkspace(&r)
	c.applyAgent(&r, a)
	c.applyPlace(&r, a)
	c.applyK8s(&r, a)
	if err := c.applyACP(&r, a); err != nil {
		return r, err
	}
	if IsACP(r.Session) {
		r.acpPermissions(a)
	} else {
		c.applyPermissions(&r, a)
	}
	return r, nil
}

// layer is one source of values while resolving.
type layer struct {
	r      *Resolved
	source string
	file   string
	where  Where
}

// set copies src to dst if the layer has the key.
func set[T any](l layer, key string, dst *T, src T) {
	if l.where.Has(key) {
		*dst = src
		l.mark(key)
	}
}

func (l layer) mark(key string) { l.markAs(key, key) }

// markAs records the origin of a value that the file names otherwise.
func (l layer) markAs(as, key string) {
	l.r.Origins[as] = Origin{Source: l.source, File: filepath.Base(l.file), Line: l.where.Place(key).Line}
}

func (l layer) hints(h *Hints, env map[string]string) {
	set(l, "prompt_mode", &l.r.PromptMode, h.PromptMode)
	set(l, "prompt_flag", &l.r.PromptFlag, h.PromptFlag)
	set(l, "ready_prompt_prefix", &l.r.ReadyPromptPrefix, h.ReadyPromptPrefix)
	set(l, "ready_delay_ms", &l.r.ReadyDelayMS, h.ReadyDelayMS)
	set(l, "reports_status", &l.r.ReportsStatus, h.ReportsStatus)
	set(l, "interrupt_keys", &l.r.InterruptKeys, h.InterruptKeys)
	set(l, "process_names", &l.r.ProcessNames, h.ProcessNames)
	set(l, "emits_permission_warning", &l.r.EmitsPermissionWarning, h.EmitsPermissionWarning)
	set(l, "accept_startup_dialogs", &l.r.AcceptStartupDialogs, h.AcceptStartupDialogs)
	set(l, "text_commands", &l.r.TextCommands, h.TextCommands)
	set(l, "text_words", &l.r.TextWords, h.TextWords)
	set(l, "text_openers", &l.r.TextOpeners, h.TextOpeners)
	set(l, "resumed_lines", &l.r.ResumedLines, h.ResumedLines)
	set(l, "text_mark", &l.r.TextMark, h.TextMark)
	set(l, "clear_keys", &l.r.ClearKeys, h.ClearKeys)
	set(l, "inherit_env", &l.r.InheritEnv, h.InheritEnv)
	maps.Copy(env, h.Env)
	for k := range h.Env {
		l.r.Origins["env."+k] = Origin{Source: l.source, File: filepath.Base(l.file), Line: l.where.Place("env").Line}
	}
}

// providerName returns the provider that an agent names, directly or by
// default.
func (c *City) providerName(a *Agent) string {
	switch {
	case a.Provider != "":
		return a.Provider
	case a.StartCommand != "":
		return "" // no preset's hints for a bare command
	case c.Workspace.Provider != "":
		return c.Workspace.Provider
	case c.Workspace.StartCommand != "":
		return ""
	}
	return "shell"
}

// applyProvider applies the chain of bases, farthest first.
func (c *City) applyProvider(r *Resolved, a *Agent) error {
	r.Provider = c.providerName(a)
	r.Origins["provider"] = c.providerOrigin(a)
	if r.Provider == "" {
		return nil
	}
	chain, err := c.chain(r.Provider)
	if err != nil {
		return err
	}
	for _, link := range slices.Backward(chain) {
		l, p := c.layerOf(r, link), link.p
		if link.preset {
			r.Family = link.name
		}
		set(l, "command", &r.Command, p.Command)
		set(l, "args", &r.Args, p.Args)
		set(l, "supports_acp", &r.SupportsACP, p.SupportsACP)
		set(l, "supports_hooks", &r.SupportsHooks, p.SupportsHooks)
		set(l, "instructions_file", &r.InstructionsFile, p.InstructionsFile)
		set(l, "resume_flag", &r.ResumeFlag, p.ResumeFlag)
		set(l, "resume_style", &r.ResumeStyle, p.ResumeStyle)
		set(l, "session_id_flag", &r.SessionIDFlag, p.SessionIDFlag)
		set(l, "conversation_dir", &r.ConversationDir, p.ConversationDir)
		set(l, "conversation_files", &r.ConversationFiles, p.ConversationFiles)
		set(l, "conversation_from", &r.ConversationFrom, p.ConversationFrom)
		l.hints(&p.Hints, r.ProviderEnv)
		l.addLevels(p.Permissions)
	}
	return nil
}

func (c *City) layerOf(r *Resolved, l link) layer {
	if l.preset {
		return layer{r: r, source: "preset " + l.name, file: "presets.toml", where: l.p.Where}
	}
	return layer{r: r, source: "providers." + l.name, file: c.File, where: l.p.Where}
}

func (c *City) providerOrigin(a *Agent) Origin {
	file := filepath.Base(c.File)
	switch {
	case a.Provider != "":
		return Origin{Source: "agent", File: file, Line: a.Place("provider").Line}
	case a.StartCommand != "":
		return Origin{Source: "agent", File: file, Line: a.Place("start_command").Line}
	case c.Workspace.Provider != "" || c.Workspace.StartCommand != "":
		return Origin{Source: "workspace", File: file, Line: c.Workspace.Place("provider").Line}
	}
	return Origin{Source: "default"}
}

// link is one provider in a chain of bases.
type link struct {
	name   string
	p      Provider
	preset bool
}

// chain follows base from the named provider to its end. A [providers.X] with a
// preset's name and no base starts from that preset; base = "" makes it start
// from nothing.
func (c *City) chain(name string) ([]link, error) {
	var out []link
	seen := map[string]bool{}
	for name != "" {
		p, ok := c.Providers[name]
		if !ok || seen[name] && (p.Base == name || !p.Has("base")) {
			preset, isPreset := c.presets[name]
			if !isPreset {
				return nil, fmt.Errorf("no provider is named %q", name)
			}
			return append(out, link{name: name, p: preset, preset: true}), nil
		}
		if seen[name] {
			return nil, fmt.Errorf("the bases of provider %q form a cycle", name)
		}
		seen[name] = true
		out = append(out, link{name: name, p: p})
		if _, isPreset := c.presets[name]; isPreset && !p.Has("base") {
			continue // the preset of the same name is next
		}
		name = p.Base
	}
	return out, nil
}

func (c *City) applyWorkspace(r *Resolved) {
	w := &c.Workspace
	l := layer{r: r, source: "workspace", file: c.File, where: w.Where}
	if w.StartCommand != "" && (r.Provider == "" || r.Origins["provider"].Source == "workspace") {
		r.Command, r.Args = w.StartCommand, nil
		l.mark("start_command")
		delete(r.Origins, "command")
		delete(r.Origins, "args")
	}
	set(l, "install_agent_hooks", &r.InstallAgentHooks, w.InstallAgentHooks)
	set(l, "pack_overlays", &r.PackOverlays, c.paths(w.PackOverlays))
	set(l, "global_fragments", &r.Fragments, w.GlobalFragments)
	set(l, "mail", &r.Mail, w.Mail)
	defaults := layer{r: r, source: "agent_defaults", file: c.File, where: c.AgentDefaults.Where}
	set(defaults, "mail", &r.Mail, c.AgentDefaults.Mail)
	set(defaults, "hooks", &r.Hooks, c.AgentDefaults.Hooks)
	set(defaults, "record", &r.Record, c.AgentDefaults.Record)
	defaults.care(c.AgentDefaults.Care)
	r.Session = c.Session.Provider
	if c.Session.Has("provider") {
		r.Origins["session"] = Origin{Source: "session", File: filepath.Base(c.File), Line: c.Session.Place("provider").Line}
	}
}

func (c *City) applyAgent(r *Resolved, a *Agent) {
	l := layer{r: r, source: "agent", file: c.File, where: a.Where}
	if a.StartCommand != "" {
		r.Command, r.Args = a.StartCommand, nil
		l.mark("start_command")
		delete(r.Origins, "command")
	}
	if len(a.Args) > 0 {
		r.Args = append(slices.Clone(r.Args), a.Args...)
		l.mark("args")
	}
	l.hints(&a.Hints, r.AgentEnv)
	set(l, "description", &r.Description, a.Description)
	set(l, "suspended", new(bool), a.Suspended)
	set(l, "session", &r.Session, a.Session)
	set(l, "prompt_template", &r.PromptTemplate, a.PromptTemplate)
	set(l, "nudge", &r.Nudge, a.Nudge)
	set(l, "pre_start", &r.PreStart, a.PreStart)
	set(l, "session_setup", &r.SessionSetup, a.SessionSetup)
	set(l, "session_setup_script", &r.SessionSetupScript, a.SessionSetupScript)
	set(l, "session_live", &r.SessionLive, a.SessionLive)
	set(l, "overlay_dir", &r.OverlayDir, c.path(a.OverlayDir))
	set(l, "overlay_provider", &r.OverlayProvider, a.OverlayProvider)
	set(l, "install_agent_hooks", &r.InstallAgentHooks, a.InstallAgentHooks)
	set(l, "copy_files", &r.CopyFiles, c.copyFiles(a.CopyFiles))
	set(l, "mouse", &r.Mouse, a.Mouse)
	set(l, "upstream", &r.Upstream, a.Upstream)
	set(l, "mcp_servers", &r.MCPServers, a.MCPServers)
	set(l, "lifecycle", &r.Lifecycle, a.Lifecycle)
	set(l, "idle_timeout", &r.IdleTimeout, a.IdleTimeout)
	set(l, "wake_mode", &r.WakeMode, a.WakeMode)
	set(l, "mail", &r.Mail, a.Mail)
	set(l, "hooks", &r.Hooks, a.Hooks)
	set(l, "record", &r.Record, a.Record)
	l.care(a.Care)
	if a.Attach != nil {
		set(l, "attach", &r.Attach, *a.Attach)
	}
	set(l, "limits", &r.Limits, a.Limits)
	if a.Pool != nil && a.Pool.Max != 0 {
		r.Pool = a.Pool
		l.mark("pool")
	}
	if a.Has("depends_on") {
		l.mark("depends_on")
		names := c.names()
		for _, dep := range a.DependsOn {
			if q, ok := c.dependency(a, dep, names); ok {
				r.DependsOn = append(r.DependsOn, q)
			}
		}
	}
}

// names returns every identity that depends_on can refer to.
func (c *City) names() map[string]Pos {
	all := make(map[string]Pos, len(c.Agents))
	for i := range c.Agents {
		all[c.Agents[i].QualifiedName()] = c.Agents[i].At
	}
	return all
}

// Sources of values that others ask about.
const (
	OriginDefault = "default"
	OriginDir     = "dir" // of a work directory named by dir without being a rig
)

// applyPlace determines the rig and the directory.
func (c *City) applyPlace(r *Resolved, a *Agent) {
	file := filepath.Base(c.File)
	r.WorkDir = c.Dir
	r.Origins["work_dir"] = Origin{Source: OriginDefault}
	for i := range c.Rigs {
		rig := &c.Rigs[i]
		if a.Dir != "" && rig.Name == a.Dir {
			r.Rig, r.RigRoot = rig.Name, c.path(rig.Path)
			r.WorkDir = r.RigRoot
			r.Suspended = r.Suspended || rig.Suspended
			r.Origins["work_dir"] = Origin{Source: "rig " + rig.Name, File: file, Line: rig.Place("path").Line}
		}
	}
	if a.Dir != "" && r.Rig == "" {
		r.WorkDir = c.path(a.Dir)
		r.Origins["work_dir"] = Origin{Source: OriginDir, File: file, Line: a.Place("dir").Line}
	}
	if a.WorkDir != "" {
		r.WorkDir = a.WorkDir // absolute once its templates are filled in: see Place
		r.Origins["work_dir"] = Origin{Source: "agent", File: file, Line: a.Place("work_dir").Line}
	}
}

// path makes a path in the file absolute; "~/" is the home directory.
func (c *City) path(p string) string { return Place(c.Dir, p) }

func (c *City) paths(list []string) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = c.path(p)
	}
	return out
}

func (c *City) copyFiles(list []CopyFile) []CopyFile {
	out := slices.Clone(list)
	for i := range out {
		out[i].Src = c.path(out[i].Src)
	}
	return out
}
