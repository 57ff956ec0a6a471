package tmux

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
)

// DefaultSocket returns the socket of a city's server: GC_TMUX_SOCKET, else a name
// derived from the city's directory in $XDG_STATE_HOME/gc/tmux
// (~/.local/state/gc/tmux). That directory is private to the user; a city sees
// neither another city's sessions nor those of the user's own tmux. city is an
// absolute path, "" for sessions without a city.
func DefaultSocket(getenv func(string) string, city string) (string, error) {
	if s := getenv("GC_TMUX_SOCKET"); s != "" {
		return filepath.Abs(s)
	}
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("neither XDG_STATE_HOME, HOME nor GC_TMUX_SOCKET is set")
		}
		state = filepath.Join(home, ".local", "state")
	}
	name := "default"
	if city != "" {
		sum := sha256.Sum256([]byte(city))
		name = hex.EncodeToString(sum[:6]) // a socket's path is limited to 107 bytes
	}
	return filepath.Join(state, "gc", "tmux", name), nil
}
