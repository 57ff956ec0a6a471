// Package far is what one gc does for the gc of another machine: it connects to the mux,
// runs commands, stages files, and answers questions about the machine. [Server] is the far
// side, run by gc mux dial --many; [Client] is the near side, which runtime/native uses.
//
// Each request is a connection of a kind. The package knows nothing of what carries the
// connections (ssh, a pod's exec), and the Server does only what the user who runs it may
// do. Environments and input travel over the connection, never in arguments of a program.
package far

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// The kinds of connections. The arguments and results are the types below, as JSON.
const (
	kindMux       = "mux"       // muxArgs; then the bytes of a connection to the mux
	kindEnviron   = "environ"   // environArgs → texts
	kindFacts     = "facts"     // → Facts
	kindRun       = "run"       // runArgs; input, half-closed → frames
	kindStage     = "stage"     // stageArgs; a tar of staging.Pack → {}
	kindDir       = "dir"       // dirArgs → string
	kindProgram   = "program"   // programArgs → texts
	kindRuntimes  = "runtimes"  // runtimesArgs → []root
	kindTerminate = "terminate" // terminateArgs → {}
	kindGone      = "gone"      // goneArgs → {} when the program has gone
	kindCity      = "city"      // cityArgs; then the bytes of a connection to the city's controller
)

// Kinds lists what the Server serves.
var Kinds = []string{kindMux, kindEnviron, kindFacts, kindRun, kindStage, kindDir, kindProgram, kindRuntimes, kindTerminate, kindGone, kindCity}

type muxArgs struct {
	Start bool `json:"start"` // a server if there is none
}

type cityArgs struct {
	Dir string `json:"dir,omitempty"` // "" = the only one that runs
}

type environArgs struct {
	Also []string `json:"also,omitempty"` // variables that a session does not inherit by itself
}

type runArgs struct {
	Argv  texts  `json:"argv,omitempty"`
	Line  string `json:"line,omitempty"` // for the shell, in place of argv
	Dir   string `json:"dir,omitempty"`
	Env   texts  `json:"env,omitempty"`
	Alone bool   `json:"alone,omitempty"` // Env is the whole environment; else it is added to the server's
}

type stageArgs struct {
	Dir string `json:"dir"`
}

type dirArgs struct {
	Path string `json:"path"` // "" = the home directory
	Make bool   `json:"make,omitempty"`
}

type programArgs struct {
	PID int    `json:"pid"`
	ID  string `json:"id,omitempty"`
}

type runtimesArgs struct {
	ID string `json:"id,omitempty"`
}

// root is a proctree.Root with the variables that providers use.
type root struct {
	PID   int               `json:"pid"`
	Start uint64            `json:"start"`
	Env   map[string]string `json:"env"`
}

type terminateArgs struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	ID    string `json:"id"`
	Grace int64  `json:"grace_ms"`
}

type goneArgs struct {
	PID   int    `json:"pid"`
	ID    string `json:"id"`
	Names texts  `json:"names"`
}

// Facts describe a machine. A number that cannot be found out is -1.
type Facts struct {
	Version  string   `json:"version"`
	Features []string `json:"features"` // the kinds it serves
	OS       string   `json:"os"`
	Arch     string   `json:"arch"`

	Hostname string    `json:"hostname"`
	User     string    `json:"user"`
	UID      int       `json:"uid"`
	Home     string    `json:"home"`
	Time     time.Time `json:"time"`
	Boot     string    `json:"boot_id"` // "" if unknown

	StateDir  string `json:"state_dir"`
	FreeBytes int64  `json:"free_bytes"` // of its file system, for this user
	PTYsUsed  int    `json:"ptys_used"`
	PTYsMax   int    `json:"ptys_max"`

	MuxRunning  bool   `json:"mux_running"`
	MuxVersion  string `json:"mux_version,omitempty"`
	MuxSessions int    `json:"mux_sessions"`
	MuxError    string `json:"mux_error,omitempty"` // why the mux could not be asked
}

// texts is a list of strings, each of any bytes: one that is not UTF-8 is {"base64":…}.
type texts []string

type anyBytes struct {
	Bytes []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t texts) MarshalJSON() ([]byte, error) {
	list := make([]any, len(t))
	for i, s := range t {
		if list[i] = s; !utf8.ValidString(s) {
			list[i] = anyBytes{[]byte(s)}
		}
	}
	return json.Marshal(list)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*t = make(texts, len(list))
	for i, raw := range list {
		if err := json.Unmarshal(raw, &(*t)[i]); err == nil {
			continue
		}
		var b anyBytes
		if err := json.Unmarshal(raw, &b); err != nil {
			return err
		}
		(*t)[i] = string(b.Bytes)
	}
	return nil
}
