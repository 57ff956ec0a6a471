package cli

import (
	"slices"
	"strings"
	"time"
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
