// Package rules is the syntax of a policy's rules, KIND or KIND:GLOB, and of its
// permissions. It matches nothing: internal/acp/policy does. The config reads them, too,
// to report a bad rule with its position.
package rules

import (
	"errors"
	"slices"
	"strings"
)

// Kinds are the protocol's kinds of tool calls (schema of version 1, ToolKind).
var Kinds = []string{"read", "edit", "delete", "move", "search", Execute, "think", "fetch", "switch_mode", "other"}

// Execute is the kind whose pattern is for a command, not for paths.
const Execute = "execute"

// Permissions: what happens to a request that no rule matches.
const (
	Ask       = "ask"        // someone answers; the default
	AllowRead = "allow-read" // reading and searching below the work directory is allowed
	Allow     = "allow"      // everything is allowed
	Deny      = "deny"       // everything is rejected
)

// Permissions are the valid ones.
var Permissions = []string{Ask, AllowRead, Allow, Deny}

// Errors of Parse.
var (
	ErrKind    = errors.New("not a kind of tool call")
	ErrEmpty   = errors.New("empty pattern: want KIND or KIND:GLOB")
	ErrHome    = errors.New("~ is not expanded: want a path below the work directory or an absolute one")
	ErrOutside = errors.New(".. never matches: want a path below the work directory or an absolute one")
)

// Rule is a parsed rule. Without a pattern it is about every call of the kind.
type Rule struct{ Kind, Pattern string }

// Parse reads a rule. The kind is set with every error.
func Parse(text string) (Rule, error) {
	kind, pattern, hasPattern := strings.Cut(text, ":")
	r := Rule{kind, strings.TrimSpace(pattern)}
	switch {
	case !slices.Contains(Kinds, kind):
		return r, ErrKind
	case hasPattern && r.Pattern == "":
		return r, ErrEmpty
	case kind == Execute:
	case strings.HasPrefix(r.Pattern, "~"):
		return r, ErrHome
	case slices.Contains(strings.Split(r.Pattern, "/"), ".."):
		return r, ErrOutside
	}
	return r, nil
}
