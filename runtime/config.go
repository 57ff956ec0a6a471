package runtime

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/rule"
)

// OneShot is the Lifecycle of bounded work: ending is success, not a crash.
const OneShot = "one_shot"

// Config says what a session runs and how it becomes ready. All-zero hints
// mean: create the session, run the command, do nothing else.
type Config struct {
	WorkDir string            // absolute; empty = the home folder
	Command string            // a shell command line; empty = the user's shell
	Env     map[string]string // added to the base environment; "" unsets the variable
	BaseEnv map[string]string // below Env: what config inherits from the caller; in no fingerprint

	Transport string // who is to host it ("tmux", "exec:…"); "" = no wish. Routers look at it, in no fingerprint
	Lifecycle string // "" long-lived, or OneShot
	Upstream  string // identity of the model service; in the launch fingerprint

	PromptSuffix string // shell-quoted prompt appended to Command; in no fingerprint
	PromptFlag   string // put before PromptSuffix when set

	ReadyPromptPrefix      string   // a line with this prefix on the screen means ready
	ReadyDelayMs           int      // without a prefix: wait this long
	ProcessNames           []string // names that prove the agent alive
	EmitsPermissionWarning bool
	AcceptStartupDialogs   *bool        // nil: on when any readiness hint, ProcessNames or EmitsPermissionWarning is set
	KeepChecks             bool         // config lets the agent ask: a dialog that would end that is not answered
	Dialogs                []Dialog     // known besides the built-in ones, and before them
	StatusRules            []StatusRule // what the agent's screen tells of what it is doing
	Composer               Composer     // what the agent makes of typed text; in no fingerprint
	ReportsStatus          bool         // the program reports its status (OSC 7501): for a while nothing weaker says that it is ready
	InterruptKeys          []string     // what interrupts a turn, one after the other; empty: Ctrl-C
	MouseOn                bool
	Nudge                  string // typed when ready

	PreStart           []string      // shell commands before the session exists; a failure aborts
	PreStartTimeout    time.Duration // for each of them; 0 = the deadline of the start
	SessionSetup       []string      // shell commands after creation, with GC_SESSION set
	SessionSetupScript string
	SetupTimeout       time.Duration // for each of those commands; 0 = 10 s
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

	Resources Resources // bounds of the session's processes, where the backend can hold them
	Record    bool      // keep a recording of the output, where the backend can
}

// Resources bound all processes of a session together; zero is no bound. They
// are in no fingerprint: another bound restarts nothing.
type Resources struct {
	MemoryBytes int64
	CPUs        float64 // processors
	PIDs        int     // processes and threads
}

// Dialog is a known dialog: what identifies it, what it offers, and the one
// label that may be confirmed.
type Dialog = rule.Dialog

// StatusRule is a rule about what an agent's screen tells; see [rule.Status].
type StatusRule = rule.Status

// Composer is what an agent's input line makes of a message; see [rule.Composer].
type Composer = rule.Composer

// CopyFile is one entry staged before the command runs.
type CopyFile struct {
	Src         string
	RelDst      string // empty = the work dir
	Probed      bool   // found by looking rather than configured
	ContentHash string
}

// SyncWorkDirEnv returns a copy whose Env has GC_DIR equal to WorkDir. The
// caller's map is never changed.
func SyncWorkDirEnv(cfg Config) Config {
	env := maps.Clone(cfg.Env)
	if env == nil {
		env = make(map[string]string, 1)
	}
	env["GC_DIR"] = cfg.WorkDir
	cfg.Env = env
	return cfg
}

// TextContent wraps a string as one message.
func TextContent(s string) []ContentBlock {
	return []ContentBlock{{Type: BlockText, Text: s}}
}

// RawContent wraps a string as one message that is typed as it is.
func RawContent(s string) []ContentBlock {
	return []ContentBlock{{Type: BlockRaw, Text: s}}
}

// IsRaw reports a message that is to be typed as it is.
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
