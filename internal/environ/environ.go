// Package environ lists the variables that a session inherits from the
// environment of its starter. It is pure; config and the providers share it.
package environ

import (
	"path/filepath"
	"slices"
	"strings"
)

// inherited is the whole list, together with LC_*. TERM is the emulator's.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TZ", "TMPDIR", "SSH_AUTH_SOCK",
	"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
	"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
}

// Inherited reports whether every session inherits the variable.
func Inherited(name string) bool {
	return slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_")
}

// Place reports whether the variable names a place of gc's state on this machine: gc inside
// a session finds the multiplexer that hosts it by them. A relative path would mean a
// different place in the session's directory.
func Place(name, value string) bool {
	switch name {
	case "GC_MUX_SOCKET", "GC_TMUX_SOCKET", "XDG_STATE_HOME":
		return filepath.IsAbs(value)
	}
	return false
}

// Finds reports whether the commands of a session on another machine find gc, or the
// multiplexer that they run in, by the variable. They inherit that machine's value.
func Finds(name string) bool {
	return name == "GC_BIN" || name == "GC_MUX_SOCKET" || name == "XDG_STATE_HOME"
}
