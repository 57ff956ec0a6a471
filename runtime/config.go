package runtime

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
)

// OneShot is the Lifecycle of bounded work: its end is a success, not a crash.
const OneShot = "one_shot"

// Config says what a session runs and how it becomes ready. All-zero hints
// mean: create the session, run the command, do nothing else.
type Config struct {
	WorkDir string            // absolute; empty = the home directory
	Command string            // a shell command line; empty = the user's shell
	Env     map[string]string // added to the base environment; "" unsets the variable
	BaseEnv map[string]string // below Env: inherited from the caller; not in fingerprints

	Transport string // provider that should host it ("tmux", "exec:…"); "" = any. For routers; not in fingerprints
	Lifecycle string // "" long-lived, or OneShot
	Upstream  string // identity of the model service; in the launch fingerprint

	PromptSuffix string // shell-quoted prompt appended to Command; not in fingerprints
	PromptFlag   string // put before PromptSuffix when set

	Prompt          string // the first message, unquoted: for a provider that delivers it itself and ignores PromptSuffix; not in fingerprints
	StartupEnvelope string // text in front of the session's first message, whoever sends that; see [Config.FirstMessage]; not in fingerprints
	ResumeID        string // the agent's conversation to continue; "" begins a new one; not in fingerprints

	MCPServers []MCPServer // tools for the agent, in the order of the configuration
	ACP        *ACP        // how to host the agent over the Agent Client Protocol; nil: not that way

	ReadyPromptPrefix      string       // a line with this prefix on the screen means ready
	ReadyDelay             clock.Millis `json:"ReadyDelayMs"` // without a prefix: wait this long
	ProcessNames           []string     // names that prove the agent alive
	EmitsPermissionWarning bool
	AcceptStartupDialogs   *bool        // nil: on when any readiness hint, ProcessNames or EmitsPermissionWarning is set
	KeepChecks             bool         // the agent may ask for permission: dialogs that would turn that off are not answered
	Dialogs                []Dialog     // known dialogs, before the built-in ones
	StatusRules            []StatusRule // how the agent's screen shows what it is doing
	Composer               Composer     // how the agent treats typed text; not in fingerprints
	LimitRules             []LimitRule  // how its screen shows that its provider limits it
	ReportsStatus          bool         // the program reports its status (OSC 7501): at first, weaker evidence of readiness does not count
	InterruptKeys          []string     // keys that interrupt a turn, in order; empty: Ctrl-C
	// StuckAfter: an agent that claims to work is stuck when for so long nothing has moved: its
	// screen, its processes, their CPU time and network. 0: never.
	StuckAfter time.Duration
	MouseOn    bool
	Nudge      string // typed when ready

	PreStart           []string      // shell commands before the session exists; a failure aborts
	PreStartTimeout    time.Duration // for each command; 0 = the deadline of the start
	SessionSetup       []string      // shell commands after creation, with GC_SESSION set
	SessionSetupScript string        // one more, after SessionSetup
	SetupTimeout       time.Duration // for each setup command; 0 = 10 s
	SessionLive        []string      // idempotent, run again by RunLive

	ProviderName        string
	ProviderOverlayName string
	InstallAgentHooks   []string
	PackOverlayDirs     []string
	OverlayDir          string
	CopyFiles           []CopyFile

	FingerprintExtra []string

	Cols, Rows      int   // terminal size; 0 = 120×40
	ScrollbackLines int   // 0 = the backend's default
	ScrollbackBytes int64 // 0 = the backend's default

	Control bool // Command serves a control socket (GC_CONTROL_SOCKET), which Controlled reaches; for the provider of hosts of ACP agents

	Resources Resources // limits on the session's processes, if the backend can enforce them
	Record    bool      // keep a recording of the output, if the backend can
	RecordMax int64     // bytes of the recording; 0 = the backend's default
}

// Resources limit all processes of a session together; zero is no limit. They are
// not in fingerprints: a changed limit restarts nothing.
type Resources struct {
	MemoryBytes int64
	CPUs        float64 // processors
	PIDs        int     // processes and threads
}

// Dialog is a known dialog; see [rule.Dialog].
type Dialog = rule.Dialog

// StatusRule reads an agent's state from its screen; see [rule.Status].
type StatusRule = rule.Status

// LimitRule reads from an agent's screen that its provider limits it; see [rule.Limit].
type LimitRule = rule.Limit

// Composer is how an agent's input line treats a message; see [rule.Composer].
type Composer = rule.Composer

// CopyFile is one entry staged before the command runs.
type CopyFile struct {
	Src         string // a local file or directory
	RelDst      string // below the work dir; empty = the work dir
	Probed      bool   // found, not configured; may be missing
	ContentHash string // HashPathContent of a probed Src; the fingerprint has it in place of Src
}

// TextContent wraps a string as one message.
func TextContent(s string) []ContentBlock {
	return []ContentBlock{{Type: BlockText, Text: s}}
}

// RawContent wraps a string as one message that is typed unchanged.
func RawContent(s string) []ContentBlock {
	return []ContentBlock{{Type: BlockRaw, Text: s}}
}

// IsRaw reports whether a message must be typed unchanged.
func IsRaw(blocks []ContentBlock) bool {
	return slices.ContainsFunc(blocks, func(b ContentBlock) bool { return b.Type == BlockRaw })
}

// FlattenText joins text blocks with newlines; a file block becomes
// "[File: <base name>]".
func FlattenText(blocks []ContentBlock) string {
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if b.Type == BlockFilePath {
			parts = append(parts, "[File: "+filepath.Base(b.Path)+"]")
			continue
		}
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}
