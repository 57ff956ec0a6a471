// Package config reads city.toml and resolves what every agent of a city runs.
//
// Its invariant: nothing is guessed. Every key of the file is known and has the
// right type, or loading fails with every problem and its position; every
// resolved value knows where it came from. It serves the agents, the controller
// and the command line, starts nothing and writes nothing (except Init and rig
// edits).
package config

import (
	"time"
)

// FileName is the name of a city's config file.
const FileName = "city.toml"

// City is a loaded and valid city.toml.
type City struct {
	Dir  string `toml:"-"` // absolute, symbolic links resolved
	File string `toml:"-"`

	// NameID is part of the session names if another city owned them at this
	// one's first start, otherwise "". See [Identity].
	NameID string `toml:"-"`

	Workspace     Workspace           `toml:"workspace"`
	AgentDefaults AgentDefaults       `toml:"agent_defaults"`
	Providers     map[string]Provider `toml:"providers"`
	Agents        []Agent             `toml:"agents"`
	MCPServers    []MCPServer         `toml:"mcp_servers"`
	Rigs          []Rig               `toml:"rigs"`
	Session       Session             `toml:"session"`
	Daemon        Daemon              `toml:"daemon"`
	Dialogs       []Dialog            `toml:"dialogs"`
	StatusRules   []StatusRule        `toml:"status_rules"`
	LimitRules    []LimitRule         `toml:"limit_rules"`
	Notify        Notify              `toml:"notify"`
	API           API                 `toml:"api"`
	Attach        Attach              `toml:"attach"`
	Where

	presets map[string]Provider
}

// Name returns the city's name.
func (c *City) Name() string { return c.Workspace.Name }

// Workspace is the [workspace] table: the city itself and defaults for its
// agents.
type Workspace struct {
	Name              string   `toml:"name"`
	Provider          string   `toml:"provider"`
	StartCommand      string   `toml:"start_command"`
	SessionTemplate   string   `toml:"session_template"`
	Suspended         bool     `toml:"suspended"`
	Permissions       string   `toml:"permissions"`
	Mail              string   `toml:"mail"`
	InstallAgentHooks []string `toml:"install_agent_hooks"`
	PackOverlays      []string `toml:"pack_overlays"`
	GlobalFragments   []string `toml:"global_fragments"`
	Where
}

// AgentDefaults is the [agent_defaults] table: defaults for every agent.
type AgentDefaults struct {
	Permissions string `toml:"permissions"`
	Mail        string `toml:"mail"`
	Hooks       bool   `toml:"hooks"`
	Record      bool   `toml:"record"`
	Care
	Where
}

// Prompt modes.
const (
	PromptArg  = "arg"  // the prompt is the command's last argument
	PromptFlag = "flag" // the prompt follows prompt_flag
	PromptNone = "none" // the prompt is dropped
)

// Hints are the keys shared by providers and agents.
type Hints struct {
	PromptMode             string            `toml:"prompt_mode"`
	PromptFlag             string            `toml:"prompt_flag"`
	Env                    map[string]string `toml:"env"`
	InheritEnv             []string          `toml:"inherit_env"` // names and "PREFIX_*" patterns of the caller's variables
	ReadyPromptPrefix      string            `toml:"ready_prompt_prefix"`
	ReadyDelayMS           int               `toml:"ready_delay_ms"`
	ReportsStatus          bool              `toml:"reports_status"` // by OSC 7501
	InterruptKeys          []string          `toml:"interrupt_keys"` // instead of Ctrl-C
	ProcessNames           []string          `toml:"process_names"`
	EmitsPermissionWarning bool              `toml:"emits_permission_warning"`
	AcceptStartupDialogs   *bool             `toml:"accept_startup_dialogs"`
	TextCommands           []string          `toml:"text_commands"` // as in rule.Composer
	TextWords              []string          `toml:"text_words"`
	TextOpeners            []string          `toml:"text_openers"`
	ResumedLines           []string          `toml:"resumed_lines"` // begin the lines of a resumed conversation, which is shown late
	TextMark               string            `toml:"text_mark"`
	ClearKeys              []string          `toml:"clear_keys"`
}

// Provider is one [providers.NAME] table, or a preset.
type Provider struct {
	Base              string   `toml:"base"`
	DisplayName       string   `toml:"display_name"`
	Command           string   `toml:"command,start_command"`
	Args              []string `toml:"args"`
	SupportsACP       bool     `toml:"supports_acp"`
	SupportsHooks     bool     `toml:"supports_hooks"`
	InstructionsFile  string   `toml:"instructions_file"`
	ResumeFlag        string   `toml:"resume_flag"`
	ResumeStyle       string   `toml:"resume_style"`
	SessionIDFlag     string   `toml:"session_id_flag"`
	ConversationDir   string   `toml:"conversation_dir"`   // where the program keeps its conversations; see internal/carry
	ConversationFiles string   `toml:"conversation_files"` // those of one of them, a pattern
	ConversationFrom  string   `toml:"conversation_from"`  // without session_id_flag: how its id is found; see internal/conversation
	ACPCommand        string   `toml:"acp_command"`        // starts the program as an ACP agent
	ACPAuth           string   `toml:"acp_auth"`           // the method to authenticate with
	ACPAuthIf         string   `toml:"acp_auth_if"`        // only if this variable is set; "" is always
	ACPMode           string   `toml:"acp_mode"`           // of a preset: the mode in which the program asks
	ACPInstall        string   `toml:"acp_install"`        // the command that installs it, for hints
	MCPStyle          string   `toml:"mcp_style"`          // how a program on a terminal gets its MCP servers
	HooksStyle        string   `toml:"hooks_style"`        // how it gets hooks that report its state
	// Permissions maps levels to the program's flags; it lacks levels that the
	// program does not have.
	Permissions map[string]Level `toml:"permissions"`
	Hints
	Where
}

// Lifecycle of an agent.
const OneShot = "one_shot"

// Wake modes: what a start after a stop does with the conversation.
const (
	WakeResume = "resume"
	WakeFresh  = "fresh"
)

// Resume styles: the position of resume_flag.
const (
	ResumeByFlag     = "flag"       // after the command
	ResumeSubcommand = "subcommand" // after its first word
)

// Agent is an [[agents]] table as written in the file; Resolve returns
// everything it runs with.
type Agent struct {
	Name               string        `toml:"name"`
	Description        string        `toml:"description"`
	Dir                string        `toml:"dir"`
	WorkDir            string        `toml:"work_dir"`
	Suspended          bool          `toml:"suspended"`
	Provider           string        `toml:"provider"`
	Session            string        `toml:"session"`
	StartCommand       string        `toml:"start_command,command"`
	Args               []string      `toml:"args"`
	Permissions        string        `toml:"permissions"`
	PromptTemplate     string        `toml:"prompt_template"`
	Nudge              string        `toml:"nudge"`
	PreStart           []string      `toml:"pre_start"`
	SessionSetup       []string      `toml:"session_setup"`
	SessionSetupScript string        `toml:"session_setup_script"`
	SessionLive        []string      `toml:"session_live"`
	OverlayDir         string        `toml:"overlay_dir"`
	OverlayProvider    string        `toml:"overlay_provider"`
	InstallAgentHooks  []string      `toml:"install_agent_hooks"`
	CopyFiles          []CopyFile    `toml:"copy_files"`
	Mouse              bool          `toml:"mouse"`
	Upstream           string        `toml:"upstream"`
	MCPServers         []string      `toml:"mcp_servers"`
	ACPCommand         string        `toml:"acp_command"`
	ACP                *ACP          `toml:"acp"`
	K8s                *K8s          `toml:"k8s"`
	Lifecycle          string        `toml:"lifecycle"`
	IdleTimeout        time.Duration `toml:"idle_timeout"`
	DependsOn          []string      `toml:"depends_on"`
	WakeMode           string        `toml:"wake_mode"`
	Mail               string        `toml:"mail"`
	Hooks              bool          `toml:"hooks"`  // give the program hooks that report its state
	Record             bool          `toml:"record"` // record the output of its sessions
	Attach             *bool         `toml:"attach"`
	Limits             Limits        `toml:"limits"`
	Pool               *Pool         `toml:"pool"`
	Care
	Hints
	Where
}

// QualifiedName returns the agent's identity in its city: "dir/name", or the
// bare name without a dir.
func (a *Agent) QualifiedName() string {
	if a.Dir == "" {
		return a.Name
	}
	return a.Dir + "/" + a.Name
}

// CopyFile is an entry of copy_files; a relative Src is relative to the city.
type CopyFile struct {
	Src string `toml:"src"`
	Dst string `toml:"dst"`
	Where
}

// Limits limit an agent's processes; zero means no limit.
type Limits struct {
	Memory Bytes `toml:"memory"`
	CPU    CPU   `toml:"cpu"`
	PIDs   int   `toml:"pids"`
	Where
}

// Pool makes an agent a template of several members.
type Pool struct {
	Min          int           `toml:"min"`
	Max          int           `toml:"max"` // 0 = no pool, -1 = unlimited
	Check        string        `toml:"check"`
	DrainTimeout time.Duration `toml:"drain_timeout"`
	OnBoot       string        `toml:"on_boot"`
	OnDeath      string        `toml:"on_death"`
	NamePool     []string      `toml:"namepool"`
	Where
}

// Rig is a project directory that agents work in; a relative Path is relative
// to the city.
type Rig struct {
	Name      string `toml:"name"`
	Path      string `toml:"path"`
	Suspended bool   `toml:"suspended"`
	Where
}

// Session is the [session] table: where and how sessions are hosted.
type Session struct {
	Provider        string        `toml:"provider"`
	SetupTimeout    time.Duration `toml:"setup_timeout"`
	StartupTimeout  time.Duration `toml:"startup_timeout"`
	RemoteMatch     []string      `toml:"remote_match"`
	Local           string        `toml:"local"`  // hybrid: who hosts the others; "" = native
	Remote          string        `toml:"remote"` // hybrid: who hosts what RemoteMatch names; "" = k8s
	ScrollbackLines int           `toml:"scrollback_lines"`
	ScrollbackBytes Bytes         `toml:"scrollback_bytes"`
	Size            Size          `toml:"size"`
	DetachKeys      string        `toml:"detach_keys"`
	K8s             K8s           `toml:"k8s"`
	ACP             ACP           `toml:"acp"`
	Where
}

// Daemon is the [daemon] table: how the controller behaves.
type Daemon struct {
	InheritEnv        []string      `toml:"inherit_env"`
	PatrolInterval    time.Duration `toml:"patrol_interval"`
	MaxRestarts       int           `toml:"max_restarts"` // 0 = no limit
	RestartWindow     time.Duration `toml:"restart_window"`
	ShutdownTimeout   time.Duration `toml:"shutdown_timeout"`
	DriftDrainTimeout time.Duration `toml:"drift_drain_timeout"`
	MaxParallelStarts int           `toml:"max_parallel_starts"`
	MaxKept           Bytes         `toml:"max_kept"` // recordings, transcripts and artifacts of ended sessions; 0 = no limit
	Where
}

// When a dialog may be answered.
const (
	WhenStartup = "startup" // while a session starts; the default
	WhenReport  = "report"  // never: it is only reported
)

// Dialog is one [[dialogs]] entry: an addition to the known dialogs.
type Dialog struct {
	Name    string   `toml:"name"`
	Detect  []string `toml:"detect"`
	Options []string `toml:"options"`
	Wanted  string   `toml:"wanted"`
	When    string   `toml:"when"`
	Where
}

// StatusRule is one [[status_rules]] entry.
type StatusRule struct {
	Name     string   `toml:"name"`
	Provider string   `toml:"provider"`
	State    string   `toml:"state"`
	Kind     string   `toml:"kind"`
	Region   string   `toml:"region"`
	All      []string `toml:"all"`
	Any      []string `toml:"any"`
	Not      []string `toml:"not"`
	Priority int      `toml:"priority"`
	Moves    bool     `toml:"moves"`     // it holds only while the screen keeps changing
	SettleMS int      `toml:"settle_ms"` // idle: pause in the output before it is believed; blocked: wait for the question
	Where
}

// API is the [api] table; port 0 means off.
type API struct {
	Bind string `toml:"bind"`
	Port int    `toml:"port"`
	Where
}

// setDefaults sets the defaults. It runs before decoding, so that an explicit
// zero stays a zero.
func (c *City) setDefaults() {
	c.Session.SetupTimeout = 10 * time.Second
	c.Session.StartupTimeout = time.Minute
	c.Session.ScrollbackLines = 100_000
	c.Session.Size = Size{Cols: 120, Rows: 40}
	c.Daemon.PatrolInterval = 30 * time.Second
	c.Daemon.MaxRestarts = 5
	c.Daemon.RestartWindow = time.Hour
	c.Daemon.ShutdownTimeout = 5 * time.Second
	c.Daemon.DriftDrainTimeout = 2 * time.Minute
	c.Daemon.MaxParallelStarts = 8
	c.Daemon.MaxKept = 2 << 30
	c.Notify.Every = 10 * time.Second
	c.API.Bind = "127.0.0.1"
	c.Attach.Welcome = true
}

// setPoolDefaults sets the keys omitted in a pool.
func (p *Pool) setPoolDefaults() {
	if !p.Has("check") {
		p.Check = "echo 1"
	}
	if !p.Has("drain_timeout") {
		p.DrainTimeout = 5 * time.Minute
	}
}
