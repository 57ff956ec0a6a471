// Package attachkeys finds the keys of gc attach: those of a person's own file, else of the
// city, else the defaults.
package attachkeys

import (
	"maps"
	"os"
	"slices"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/mux/attach"
)

// Check returns what is wrong with the keys of an [attach] table.
func Check(a config.Attach) (problems []config.Problem) {
	changes := a.Changes()
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if _, err := attach.ParseKeys("", map[string][]string{name: changes[name]}); err != nil {
			problems = append(problems, problem(a, name, err))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if _, err := attach.ParseKeys("", changes); err != nil { // two of them have one key
		problems = append(problems, problem(a, "", err))
	}
	return problems
}

// problem is an error about the key with a name; "" is the whole table.
func problem(a config.Attach, name string, err error) config.Problem {
	key := name
	if strings.HasPrefix(name, attach.CopyPrefix) {
		key = "copy_keys"
	}
	at := a.Place(key)
	hint := "gc attach lists its keys with ctrl-b ?; docs/attach.md has the actions of copy mode"
	return config.Problem{Line: at.Line, Column: at.Column, Msg: "attach: " + err.Error(), Hint: hint}
}

// Find returns the keys that differ from the defaults, and whether to say how to leave.
// city may be nil.
func Find(city *config.City) (changes map[string][]string, welcome bool, err error) {
	user, err := config.LoadUser(config.UserFile(os.Getenv), Check)
	if err != nil {
		return nil, false, err
	}
	below := config.Attach{Welcome: true}
	if city != nil {
		below = city.Attach
	}
	changes, welcome = user.Over(below)
	return changes, welcome, nil
}

// Welcome is the line that a person sees when they attach: how to leave.
func Welcome(label, detach string, changes map[string][]string, readOnly bool) string {
	k, err := attach.ParseKeys(detach, changes)
	if err != nil {
		return ""
	}
	text := "gc: " + label
	if readOnly {
		text += ", read-only"
	}
	if keys := k.Of(attach.DoDetach); keys != "" {
		text += "; " + keys + " detaches"
	}
	if keys := k.Of(attach.DoHelp); keys != "" {
		text += "; " + keys + " lists the keys"
	}
	return text
}
