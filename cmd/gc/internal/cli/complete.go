package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// CompleteLimit is the time limit of a completion.
const CompleteLimit = time.Second

// WithPrefix returns the names that begin with prefix.
func WithPrefix(names []string, prefix string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
}

// Without returns names except the given ones.
func Without(names, given []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(given, n) })
}

// CompleteFlag completes a flag of cmd with words. Those that end with = are not finished.
func CompleteFlag(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		found := WithPrefix(slices.Clone(words), prefix)
		if len(found) > 0 && !slices.ContainsFunc(found, func(w string) bool { return !strings.HasSuffix(w, "=") }) {
			return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}) // the flag exists
}
