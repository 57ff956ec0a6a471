package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Permission levels: what an agent may do without asking.
const (
	PermissionsAsk      = "ask"       // nothing with effects; the default
	PermissionsAutoEdit = "auto-edit" // edit files; it asks before running commands
	PermissionsBypass   = "bypass"    // anything
)

// PermissionLevels returns the levels, strictest first.
func PermissionLevels() []string {
	return []string{PermissionsAsk, PermissionsAutoEdit, PermissionsBypass}
}

// Level is how a permission level is requested from a program.
type Level struct {
	Args []string          `toml:"args"`
	Env  map[string]string `toml:"env"`
	// Also are alternative spellings of Args, words separated by blanks. They
	// are never used, only recognised in the user's own args.
	Also []string `toml:"also"`
	// ReadyPromptPrefix replaces the provider's at this level, if set.
	ReadyPromptPrefix string `toml:"ready_prompt_prefix"`
	Where
	origin Origin
}

// spelledIn reports whether the words contain one of the level's spellings.
func (l Level) spelledIn(words []string) bool {
	all := [][]string{l.Args}
	if len(l.Args) == 2 {
		all = append(all, []string{l.Args[0] + "=" + l.Args[1]})
	}
	for _, text := range l.Also {
		all = append(all, strings.Fields(text))
	}
	return slices.ContainsFunc(all, func(spelling []string) bool {
		n := len(spelling)
		for i := 0; n > 0 && i+n <= len(words); i++ {
			if slices.Equal(words[i:i+n], spelling) {
				return true
			}
		}
		return false
	})
}

// flags returns the names of the flags in every spelling of the level.
func (l Level) flags() []string {
	words := slices.Clone(l.Args)
	for _, text := range l.Also {
		words = append(words, strings.Fields(text)...)
	}
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, "-") {
			name, _, _ := strings.Cut(w, "=")
			out = append(out, name)
		}
	}
	return out
}

// addLevels adds a provider's levels.
func (l layer) addLevels(levels map[string]Level) {
	if l.r.levels == nil {
		l.r.levels = map[string]Level{}
	}
	for name, level := range levels {
		level.origin = Origin{Source: l.source, File: filepath.Base(l.file), Line: level.At.Line}
		l.r.levels[name] = level
	}
}

// applyPermissions selects the level. The user's own args or env about
// permissions are kept: they override a level that is not set explicitly, and
// conflict with one that is.
func (c *City) applyPermissions(r *Resolved, a *Agent) {
	level, origin := c.writtenLevel(a)
	if len(r.levels) == 0 {
		r.Unchecked = c.unchecked(r)
		if a.Permissions != "" {
			r.refuse(a, `write the program's own flags in args, or describe them in [providers.NAME.permissions.LEVEL]`,
				"permissions = %q has no effect: %s has no levels of permissions", a.Permissions, r.runs())
		}
		return
	}
	if a.Permissions == "" {
		r.OtherLevels = maps.Clone(r.levels)
		r.OtherLevels[""] = Level{}
	}
	given, by := r.givenByUser(c, a)
	switch {
	case level != "" && !slices.Contains(PermissionLevels(), level):
		return // reported at its position
	case level != "" && given != "":
		r.refuse(a, "remove one of the two", "%s is in %s, and permissions = %q (%s) decides the same", given, by, level, origin)
	case given != "":
		r.decidedByUser(by)
	case level != "":
		if _, ok := r.levels[level]; !ok {
			r.refuse(a, "it has "+strings.Join(r.has(), ", "), "permissions = %q (%s), but %s has no such level", level, origin, r.runs())
			return
		}
		r.useLevel(level, origin)
	case r.Origins["start_command"].Source != "": // the user's own command line
		r.Unchecked = c.unchecked(r)
	default:
		level, origin = r.has()[0], Origin{Source: "default"}
		if level != PermissionsAsk {
			origin.Source = "default: " + r.runs() + " has no " + quote(PermissionsAsk)
		}
		r.useLevel(level, origin)
	}
}

// writtenLevel returns the level that the file sets for the agent, "" for none.
func (c *City) writtenLevel(a *Agent) (string, Origin) {
	file := filepath.Base(c.File)
	switch {
	case a.Permissions != "":
		return a.Permissions, Origin{Source: "agent", File: file, Line: a.Place("permissions").Line}
	case c.AgentDefaults.Permissions != "":
		return c.AgentDefaults.Permissions, Origin{Source: "agent_defaults", File: file, Line: c.AgentDefaults.Place("permissions").Line}
	case c.Workspace.Permissions != "":
		return c.Workspace.Permissions, Origin{Source: "workspace", File: file, Line: c.Workspace.Place("permissions").Line}
	}
	return "", Origin{}
}

// useLevel applies one of the provider's levels.
func (r *Resolved) useLevel(level string, origin Origin) {
	l := r.levels[level]
	r.Permissions, r.PermissionArgs, r.PermissionEnv = level, l.Args, l.Env
	r.Unchecked = level == PermissionsBypass
	r.Origins["permissions"] = origin
	if len(l.Args)+len(l.Env) > 0 {
		r.Origins["permissions.args"] = l.origin
	}
	r.promptOf(l)
}

// promptOf applies the level's ready prefix, unless the provider's was
// overridden.
func (r *Resolved) promptOf(l Level) {
	if l.ReadyPromptPrefix != "" && r.Origins["ready_prompt_prefix"].Source == l.origin.Source {
		r.ReadyPromptPrefix, r.Origins["ready_prompt_prefix"] = l.ReadyPromptPrefix, l.origin
	}
}

// decidedByUser records the effect of the user's own args or env.
func (r *Resolved) decidedByUser(by string) {
	for level, l := range r.levels {
		if r.userSets(l) {
			r.Permissions = level
			r.promptOf(l)
		}
	}
	r.Unchecked = r.Permissions == PermissionsBypass
	if r.Permissions == "" {
		r.Permissions = "as its args say"
	}
	r.Origins["permissions"] = Origin{Source: by}
}

// userSets reports whether the user's args or env ask for the level.
func (r *Resolved) userSets(l Level) bool {
	env := maps.Clone(r.ProviderEnv)
	maps.Copy(env, r.AgentEnv)
	for k, v := range l.Env {
		if env[k] == v {
			return true
		}
	}
	return l.spelledIn(r.words())
}

// words are the words of the command line after the program.
func (r *Resolved) words() []string {
	words := strings.Fields(r.Command)
	return append(words[min(1, len(words)):], r.Args...)
}

// givenByUser returns the permission flag or variable in the user's own args or
// env, and its origin; "" for none.
func (r *Resolved) givenByUser(c *City, a *Agent) (given, by string) {
	for _, level := range sortedKeys(r.levels) {
		l := r.levels[level]
		flags := l.flags()
		for _, w := range r.words() {
			name, _, _ := strings.Cut(w, "=")
			if slices.Contains(flags, name) {
				return name, r.argsOrigin(c, a, w)
			}
		}
		for _, k := range sortedKeys(l.Env) {
			if o, ok := r.Origins["env."+k]; ok {
				return k, "env of " + o.String()
			}
		}
	}
	return "", ""
}

// argsOrigin returns the origin of a word of the command line.
func (r *Resolved) argsOrigin(c *City, a *Agent, word string) string {
	if slices.Contains(a.Args, word) {
		return "args of " + Origin{Source: "agent", File: filepath.Base(c.File), Line: a.Place("args").Line}.String()
	}
	if slices.Contains(strings.Fields(r.Command), word) {
		for _, key := range []string{"start_command", "command"} {
			if o, ok := r.Origins[key]; ok {
				return key + " of " + o.String()
			}
		}
	}
	return "args of " + r.Origins["args"].String()
}

// unchecked reports whether the user's own command line turns the checks off,
// as far as a preset knows its program.
func (c *City) unchecked(r *Resolved) bool {
	levels := r.levels
	if first := strings.Fields(r.Command); len(levels) == 0 && len(first) > 0 {
		for _, name := range sortedKeys(c.presets) {
			if p := c.presets[name]; p.Command == filepath.Base(first[0]) {
				levels = p.Permissions
			}
		}
	}
	l, ok := levels[PermissionsBypass]
	return ok && l.spelledIn(r.words())
}

// has lists the provider's levels, the strictest first.
func (r *Resolved) has() []string {
	return slices.DeleteFunc(PermissionLevels(), func(level string) bool {
		_, ok := r.levels[level]
		return !ok
	})
}

// runs names what the agent runs.
func (r *Resolved) runs() string {
	if r.Provider == "" {
		return "its start_command"
	}
	return "provider " + quote(r.Provider)
}

func (r *Resolved) refuse(a *Agent, hint, format string, args ...any) {
	at := a.Place("permissions")
	r.problem = &Problem{Line: at.Line, Column: at.Column, Msg: fmt.Sprintf(format, args...), Hint: hint}
}
