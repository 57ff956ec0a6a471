package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gascity.dev/gc/internal/nearest"
)

// looking are the commands that change nothing. When a typo may mean several
// commands, only these are suggested.
var looking = []string{
	"attach", "check", "completion", "config", "doctor", "events", "explain", "get", "help", "inspect", "list", "log", "logs",
	"peek", "pending", "poll", "prime", "show", "status", "version", "wait",
}

// suggestDistance is the maximum edit distance of a suggestion.
const suggestDistance = 2

// suggestion is the command that a typo probably means, or "". Among equally near
// commands it only suggests one that changes nothing.
func suggestion(cmd *cobra.Command, typed string) string {
	best, near := suggestDistance+1, []string(nil)
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() && c.Name() != "help" {
			continue
		}
		d := nearest.Distance(typed, c.Name())
		if len(typed) > 1 && strings.HasPrefix(c.Name(), typed) {
			d = min(d, 1)
		}
		switch {
		case d >= len(typed) || d > best:
		case d < best:
			best, near = d, []string{c.Name()}
		default:
			near = append(near, c.Name())
		}
	}
	if len(near) > 1 {
		near = slices.DeleteFunc(near, func(name string) bool { return !slices.Contains(looking, name) })
	}
	if len(near) != 1 {
		return ""
	}
	return near[0]
}

// UnknownCommand is the error for a word that is not a command of cmd.
func UnknownCommand(cmd *cobra.Command, name string) error {
	hint := cmd.CommandPath() + " --help lists the commands"
	if same := familiar[name]; same != "" && (!cmd.HasParent() || strings.HasPrefix(same, "gc "+cmd.Name()+" ")) {
		hint = "use " + strings.ReplaceAll(same, "gc ", cmd.Root().Name()+" ")
	} else if near := suggestion(cmd, name); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return Fail(ExitUsage, hint, "unknown command %q", name)
}

// FlagError is the error for bad flags, or for the unknown command that they are
// for.
func FlagError(cmd *cobra.Command, err error) error {
	takesWords := strings.Contains(cmd.Use, " ") // as well as its subcommands: gc nudge AGENT
	if words := cmd.Flags().Args(); len(words) > 0 && cmd.HasSubCommands() && !takesWords {
		return UnknownCommand(cmd, words[0])
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return UsageError(cmd, err.Error())
	}
	best, near := suggestDistance+1, ""
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := nearest.Distance(name, f.Name); !f.Hidden && d < best && d < len(name) {
			best, near = d, f.Name
		}
	})
	if near == "" {
		return UsageError(cmd, err.Error())
	}
	return Fail(ExitUsage, "did you mean --"+near+"?", "%w", err)
}
