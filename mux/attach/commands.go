package attach

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gascity.dev/gc/internal/nearest"
	"gascity.dev/gc/mux/attach/copymode"
	"gascity.dev/gc/mux/keys"
)

// Do is what a command of an attachment does.
type Do string

// The commands of an attachment.
const (
	DoDetach  Do = "detach"
	DoCopy    Do = "copy"
	DoHelp    Do = "help"
	DoSwitch  Do = "switch"
	DoRefresh Do = "refresh"
)

// Command is a command and the keys that give it.
type Command struct {
	Do   Do
	Keys keys.DetachKeys
}

// Keys are the keys of an attachment.
type Keys struct {
	Detach   keys.DetachKeys
	Commands []Command // but for Detach
	Copy     copymode.Bindings
}

// prefixed are the commands, and the keys that give them after the prefix.
var prefixed = []struct {
	do    Do
	keys  []string
	about string
}{
	{DoDetach, []string{"d"}, "detach; the session keeps running"},
	{DoCopy, []string{"[", "PageUp"}, "scroll, search and copy"},
	{DoSwitch, []string{"s"}, "switch to another session"},
	{DoRefresh, []string{"r"}, "paint the screen again"},
	{DoHelp, []string{"?"}, "this list"},
}

// PrefixKey and CopyPrefix are names of changes: of the prefix, and of actions of copy mode.
const (
	PrefixKey  = "prefix"
	CopyPrefix = "copy."
)

// ParseKeys returns the keys of an attachment: the defaults but for changes, by the names
// of commands. Other commands begin with the prefix: that of changes, or what detach, if it
// is given, has before its last key. If that is one key, there are no other commands.
func ParseKeys(detach string, changes map[string][]string) (Keys, error) {
	k, inCopy := Keys{}, map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if action, ok := strings.CutPrefix(name, CopyPrefix); ok {
			inCopy[action] = changes[name]
		} else if !slices.Contains(Names(), name) {
			return k, fmt.Errorf("unknown command %q; did you mean %q?", name, nearest.Of(name, Names()))
		}
	}
	var err error
	if k.Copy, err = copymode.Bind(inCopy); err != nil {
		return k, fmt.Errorf("copy mode: %w", err)
	}
	given, err := keys.ParseDetach(detach)
	if err != nil {
		return k, err
	}
	prefix, has := given.Prefix()
	if names := changes[PrefixKey]; len(names) > 0 {
		if prefix, err = keys.ParseDetach(strings.Join(names, " ")); err != nil {
			return k, fmt.Errorf("prefix: %w", err)
		}
		has = !prefix.None()
	}
	if k.Detach = given; !has {
		return k, nil
	}
	return k.after(prefix, detach != "", changes)
}

// after adds the commands after a prefix.
func (k Keys) after(prefix keys.DetachKeys, detachGiven bool, changes map[string][]string) (Keys, error) {
	taken := map[string]Do{}
	for _, c := range prefixed {
		names, changed := changes[string(c.do)]
		if !changed {
			names = c.keys
		}
		if c.do == DoDetach {
			if detachGiven {
				continue
			}
			k.Detach, _ = keys.ParseDetach("none")
		}
		for _, name := range names {
			all, err := prefix.Then(name)
			if err != nil {
				return k, fmt.Errorf("%s: %w", c.do, err)
			}
			if had := cmp.Or(taken[name], c.do); had != c.do {
				return k, fmt.Errorf("%s: %s is a key of %s, too", c.do, name, had)
			}
			taken[name] = c.do
			if c.do == DoDetach && k.Detach.None() {
				k.Detach = all
				continue
			}
			k.Commands = append(k.Commands, Command{c.do, all})
		}
	}
	return k, nil
}

// Names returns the names of changes, but for those of copy mode.
func Names() []string {
	names := []string{PrefixKey}
	for _, c := range prefixed {
		names = append(names, string(c.do))
	}
	return names
}

// Of returns the keys of a command; "" if it has none.
func (k Keys) Of(do Do) string {
	if do == DoDetach && !k.Detach.None() {
		return k.Detach.String()
	}
	for _, c := range k.Commands {
		if c.Do == do {
			return c.Keys.String()
		}
	}
	return ""
}

// Help returns the list of all keys.
func (k Keys) Help() []string {
	lines := []string{"Keys of gc attach", ""}
	for _, c := range prefixed {
		if all := k.Of(c.do); all != "" {
			lines = append(lines, fmt.Sprintf("%-24s %s", all, c.about))
		}
	}
	if len(k.Commands) > 0 {
		if prefix, ok := k.Commands[0].Keys.Prefix(); ok {
			lines = append(lines, fmt.Sprintf("%-24s %s", prefix.String()+" "+prefix.String(), "send the prefix to the program"))
		}
	}
	lines = append(lines, "", "While you scroll, search and copy", "")
	return append(append(lines, k.Copy.Help()...), "", "any other key leaves this list")
}

// commands returns what a person can do, and the keys for it.
func (o *Options) commands() []Command {
	if o.Keys == nil {
		return []Command{{DoDetach, o.DetachKeys}}
	}
	return append([]Command{{DoDetach, o.Keys.Detach}}, o.Keys.Commands...)
}

// detachKeys returns the keys that detach.
func (o *Options) detachKeys() keys.DetachKeys { return o.commands()[0].Keys }

// sequences returns the keys of the commands.
func sequences(commands []Command) (all []keys.DetachKeys) {
	for _, c := range commands {
		all = append(all, c.Keys)
	}
	return all
}
