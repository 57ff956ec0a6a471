package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity.dev/gc/internal/environ"
)

// Inherit selects from a caller's environment ("K=V" entries, the last of a
// name counts) what its agents may see: the fixed list, LC_*, the places of gc,
// and the names and "PREFIX_*" patterns in extra.
func Inherit(caller []string, extra []string) map[string]string {
	out := map[string]string{}
	for _, kv := range caller {
		k, v, ok := strings.Cut(kv, "=")
		if ok && k != "" && (environ.Inherited(k) || matches(k, extra) || environ.Place(k, v)) {
			out[k] = v
		}
	}
	return out
}

// matches reports whether a name is in a list of names and "PREFIX_*" patterns.
func matches(name string, list []string) bool {
	for _, k := range list {
		if prefix, ok := strings.CutSuffix(k, "*"); ok && strings.HasPrefix(name, prefix) || k == name {
			return true
		}
	}
	return false
}

// Named splits the names that the agent inherits by its own inherit_env,
// sorted, into those set in caller, an environment, and those missing. A
// "PREFIX_*" pattern contributes only variables that are set.
func (r *Resolved) Named(caller []string) (set, missing []string) {
	there := map[string]bool{}
	for _, kv := range caller {
		k, v, _ := strings.Cut(kv, "=")
		there[k] = v != ""
	}
	for k, ok := range there {
		if ok && matches(k, r.InheritEnv) {
			set = append(set, k)
		}
	}
	for _, k := range r.InheritEnv {
		if !strings.HasSuffix(k, "*") && !there[k] {
			missing = append(missing, k)
		}
	}
	slices.Sort(set)
	slices.Sort(missing)
	return set, slices.Compact(missing)
}

// ConfiguredEnv returns the variables the file sets for the agent: first those
// of its permission level, then the provider's, with $VAR expanded from the
// caller's whole environment (naming a variable is what lets it through), then
// the agent's own. A value of "" unsets.
func (r *Resolved) ConfiguredEnv(caller []string) map[string]string {
	vars := lookup(caller)
	out := make(map[string]string, len(r.PermissionEnv)+len(r.ProviderEnv)+len(r.AgentEnv))
	maps.Copy(out, r.PermissionEnv)
	for k, v := range r.ProviderEnv {
		out[k] = expandVars(v, vars)
	}
	for k, v := range r.AgentEnv {
		out[k] = v
	}
	return out
}

// lookup is an environment as a map.
func lookup(environ []string) map[string]string {
	out := make(map[string]string, len(environ))
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			out[k] = v
		}
	}
	return out
}

// expandVars expands $VAR and ${VAR}; a $ that starts no name is kept.
func expandVars(s string, vars map[string]string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '$' {
			b.WriteByte(s[i])
			i++
			continue
		}
		name, size := varName(s[i+1:])
		if size == 0 {
			b.WriteByte('$')
			i++
			continue
		}
		b.WriteString(vars[name])
		i += 1 + size
	}
	return b.String()
}

// varName parses NAME or {NAME} and returns its length in bytes; 0 for neither.
func varName(s string) (string, int) {
	braced := strings.HasPrefix(s, "{")
	start := 0
	if braced {
		start = 1
	}
	end := start
	for end < len(s) && (s[end] == '_' || s[end] >= 'A' && s[end] <= 'Z' || s[end] >= 'a' && s[end] <= 'z' || end > start && s[end] >= '0' && s[end] <= '9') {
		end++
	}
	if end == start || braced && (end == len(s) || s[end] != '}') {
		return "", 0
	}
	if braced {
		return s[start:end], end + 1
	}
	return s[start:end], end
}

// Place makes p absolute, relative to dir; "~/" is the home directory.
func Place(dir, p string) string {
	switch {
	case p == "":
		return ""
	case p == "~" || strings.HasPrefix(p, "~/"):
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, strings.TrimPrefix(p[1:], "/"))
		}
	case filepath.IsAbs(p):
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}
