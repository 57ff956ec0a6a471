package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"gascity.dev/gc/internal/toml"
)

// Attach is the [attach] table, of city.toml or of a person's own file: the keys of
// gc attach.
type Attach struct {
	Prefix   string              `toml:"prefix"`
	Detach   []string            `toml:"detach"` // after the prefix, as are the next four
	Copy     []string            `toml:"copy"`
	Switch   []string            `toml:"switch"`
	Refresh  []string            `toml:"refresh"`
	Help     []string            `toml:"help"`
	Welcome  bool                `toml:"welcome"` // say how to leave
	CopyKeys map[string][]string `toml:"copy_keys"`
	Where
}

// Changes returns the keys that the table sets, by name; those of copy mode as
// "copy.ACTION". It is never nil.
func (a Attach) Changes() map[string][]string {
	all := map[string][]string{}
	for name, keys := range map[string][]string{
		"detach": a.Detach, "copy": a.Copy, "switch": a.Switch, "refresh": a.Refresh, "help": a.Help,
	} {
		if a.Has(name) {
			all[name] = keys
		}
	}
	if a.Prefix != "" {
		all["prefix"] = []string{a.Prefix}
	}
	for action, keys := range a.CopyKeys {
		all["copy."+action] = keys
	}
	return all
}

// Over returns the keys of a, and those of below that a does not set.
func (a Attach) Over(below Attach) (changes map[string][]string, welcome bool) {
	changes, welcome = below.Changes(), below.Welcome
	if a.Has("welcome") {
		welcome = a.Welcome
	}
	maps.Copy(changes, a.Changes())
	return changes, welcome
}

// UserFile is a person's own file, $XDG_CONFIG_HOME/gc/config.toml, or else
// ~/.config/gc/config.toml; "" if the environment has neither.
func UserFile(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification: relative paths are ignored
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "gc", "config.toml")
}

// LoadUser reads a person's own file, which has an [attach] table only. Without a file it
// returns the defaults. check finds what the keys themselves have wrong.
func LoadUser(file string, check func(Attach) []Problem) (Attach, error) {
	var user struct {
		Attach Attach `toml:"attach"`
		Where
	}
	user.Attach.Welcome = true
	if file == "" {
		return user.Attach, nil
	}
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return user.Attach, nil
	case err != nil:
		return user.Attach, fmt.Errorf("load %s: %w", file, err)
	case !st.Mode().IsRegular() || st.Size() > maxFile:
		return user.Attach, fmt.Errorf("load %s: not a file, or larger than %d bytes", file, maxFile)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return user.Attach, fmt.Errorf("load %s: %w", file, err)
	}
	out := toml.NewReport(file)
	toml.Parse(data, out).Decode(&user, out)
	for _, p := range check(user.Attach) {
		out.Add(p.Pos(), p.Hint, "%s", p.Msg)
	}
	return user.Attach, out.Err()
}
