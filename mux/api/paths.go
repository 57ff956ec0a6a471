package api

import (
	"fmt"
	"path/filepath"
)

// Paths are a server's state directory (0700, one server each) and its socket.
type Paths struct {
	Dir    string
	Socket string
}

// DefaultPaths derives the paths from the environment: GC_MUX_SOCKET=S means
// socket S and state S.d; otherwise $XDG_STATE_HOME/gc, else
// ~/.local/state/gc. The result is absolute. ErrStateDir if the environment has none
// of them.
func DefaultPaths(getenv func(string) string) (Paths, error) {
	if s := getenv("GC_MUX_SOCKET"); s != "" {
		abs, err := filepath.Abs(s)
		if err != nil {
			return Paths{}, fmt.Errorf("%w: GC_MUX_SOCKET: %w", ErrStateDir, err)
		}
		return Paths{Dir: abs + ".d", Socket: abs}, nil
	}
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification: relative paths are ignored
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Paths{}, fmt.Errorf("%w: neither XDG_STATE_HOME, HOME nor GC_MUX_SOCKET is set", ErrStateDir)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	dir = filepath.Join(dir, "gc")
	return Paths{Dir: dir, Socket: filepath.Join(dir, "mux.sock")}, nil
}

// Files of the state directory.
const (
	ServerLock = "mux.lock"   // held by the keeper and its server
	StartLock  = "start.lock" // held while a process looks for a server and starts one
	ServerLog  = "mux.log"
)

// Lock is the file that the keeper and its server hold locked.
func (p Paths) Lock() string { return filepath.Join(p.Dir, ServerLock) }

// Db is the database.
func (p Paths) Db() string { return filepath.Join(p.Dir, "mux.db") }

// Log is the log of the keeper and its server.
func (p Paths) Log() string { return filepath.Join(p.Dir, ServerLog) }
