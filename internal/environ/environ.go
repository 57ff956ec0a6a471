// Package environ lists the variables that a session inherits from the
// environment of its starter. It is pure; config and the providers share it.
package environ

import (
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
