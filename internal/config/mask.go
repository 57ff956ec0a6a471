package config

import (
	"regexp"
	"strings"
	"sync"
)

// masked replaces a secret.
const masked = "********"

// secretNames are substrings in names of variables that hold secrets.
var secretNames = []string{"TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTHORIZATION", "COOKIE"}

// lazily compiles a pattern on first use, not at every start of gc.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// secretValue matches values that are secrets whatever the variable's name:
// known key prefixes, a URL with a password, a private key.
var secretValue = lazily(`\b(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_|\bglpat-|\bxox[abprs]-|\bAKIA[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\beyJ[A-Za-z0-9_-]{10,}\.|://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE KEY`)

// Mask replaces values of env that look like secrets. A value that only names
// variables ("$TOKEN") is not one. What an MCP server gets in its environment or
// headers is a secret whatever it looks like.
func (s *Shown) Mask() {
	for i := range s.City {
		v := &s.City[i]
		if text, ok := v.Value.(string); ok && isServerSecret(v.Key, text) {
			v.Value = masked
		}
	}
	for _, a := range s.Agents {
		for i := range a.Values {
			v := &a.Values[i]
			name, isEnv := strings.CutPrefix(v.Key, "env.")
			if text, ok := v.Value.(string); isEnv && ok && isSecret(name, text) {
				v.Value = masked
			}
		}
	}
}

// isServerSecret reports whether a value of [[mcp_servers]] is not to be shown.
func isServerSecret(key, value string) bool {
	parts := strings.SplitN(key, ".", 4)
	if len(parts) < 3 || parts[0] != "mcp_servers" || onlyVariables().MatchString(value) {
		return false
	}
	return parts[2] == "env" || parts[2] == "headers" || secretValue().MatchString(value)
}

// onlyVariables matches a value without text of its own.
var onlyVariables = lazily(`^(\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\})*$`)

func isSecret(name, value string) bool {
	if onlyVariables().MatchString(value) { // "" unsets
		return false
	}
	name = strings.ToUpper(name)
	for _, part := range secretNames {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "KEY" || strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_AUTH") || secretValue().MatchString(value)
}
