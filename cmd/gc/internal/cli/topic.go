package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Topic is something that gc help explains besides commands.
type Topic struct {
	Name, Short string
	Args        string // of the help; "" for none
	// Text is the whole text; the arguments are those that Args names, none or one.
	Text  func(args []string) (string, error)
	Words func() []string // the valid arguments, for completion
}

// HelpCommand returns gc help. Unlike cobra's own it fails for an unknown command, and it
// knows topics. A command of the same name comes first.
func HelpCommand(c *Console, topics []Topic) *cobra.Command {
	names := make([]string, len(topics))
	list := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Name
		list[i] = fmt.Sprintf("  %-19s %s", strings.TrimSpace(t.Name+" "+t.Args), t.Short)
	}
	cmd := &cobra.Command{
		Use:   "help [COMMAND... | TOPIC]",
		Short: "Show the help of a command, or explain a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if i := slices.Index(names, first(args)); i >= 0 && (err != nil || about == cmd.Root()) {
				return explain(c, cmd, topics[i], args[1:])
			}
			if err != nil || about == nil {
				return UnknownCommand(cmd.Root(), args[0])
			}
			if len(rest) > 0 {
				return UnknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeHelp(cmd.Root(), topics, args, prefix), cobra.ShellCompDirectiveNoFileComp
		},
	}
	return Describe(cmd, "Shows the help of a command, as gc COMMAND --help does, or explains a topic:\n\n"+strings.Join(list, "\n"),
		"gc help start\ngc help session new\ngc help states\ngc help city-toml agents", Statuses{ExitUsage: "no such command or topic"})
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func explain(c *Console, cmd *cobra.Command, t Topic, args []string) error {
	if len(args) > 1 || len(args) > 0 && t.Args == "" {
		return UsageError(cmd, fmt.Sprintf("too many arguments: gc help %s", strings.TrimSpace(t.Name+" "+t.Args)))
	}
	text, err := t.Text(args)
	if err == nil {
		_, err = fmt.Fprintln(c.Out, strings.TrimRight(Named(text), "\n"))
	}
	return err
}

// completeHelp completes the words of gc help: commands, or a topic and its argument.
func completeHelp(root *cobra.Command, topics []Topic, args []string, prefix string) []string {
	var words []string
	if i := slices.IndexFunc(topics, func(t Topic) bool { return t.Name == first(args) }); i >= 0 {
		if len(args) == 1 && topics[i].Words != nil {
			words = topics[i].Words()
		}
		return WithPrefix(words, prefix)
	}
	about, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return nil
	}
	for _, sub := range about.Commands() {
		if sub.IsAvailableCommand() {
			words = append(words, sub.Name())
		}
	}
	if len(args) == 0 {
		for _, t := range topics {
			words = append(words, t.Name)
		}
	}
	return WithPrefix(words, prefix)
}

// StatusTable lists the exit statuses with their meanings.
func StatusTable() string {
	var lines []string
	for _, code := range slices.Sorted(maps.Keys(statusText)) {
		lines = append(lines, fmt.Sprintf("  %-4d %s", code, statusText[code]))
	}
	return strings.Join(append(lines, fmt.Sprintf("  %d+N signal N ended the command", ExitSignal)), "\n")
}

// Wrap breaks words into lines of at most 84 columns.
func Wrap(indent string, words []string) string {
	const width = 84
	var lines []string
	line := indent
	for _, w := range words {
		switch {
		case line == indent:
		case len(line)+1+len(w) > width:
			lines = append(lines, line)
			line = indent
		default:
			line += " "
		}
		line += w
	}
	return strings.Join(append(lines, line), "\n")
}
