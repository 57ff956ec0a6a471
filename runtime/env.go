package runtime

import (
	"slices"
	"strings"
)

// inherited are the variables that a session gets from whoever started it;
// everything else of that environment stays out. TERM is the emulator's.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TZ", "TMPDIR", "SSH_AUTH_SOCK",
	"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
	"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
}

func isInherited(name string) bool {
	return slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_")
}

// Environment builds the whole environment of a session, sorted: the inherited
// variables of caller, then each layer. A layer's "" unsets a variable.
func Environment(caller []string, layers ...map[string]string) []string {
	env := map[string]string{}
	for _, kv := range caller {
		if k, v, ok := strings.Cut(kv, "="); ok && isInherited(k) {
			env[k] = v
		}
	}
	for _, layer := range layers {
		for k, v := range layer {
			if v == "" {
				delete(env, k)
				continue
			}
			env[k] = v
		}
	}
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}
