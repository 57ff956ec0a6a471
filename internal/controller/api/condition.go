package api

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Condition is what a wait waits for.
type Condition struct {
	Exit  bool
	Idle  bool
	Text  string
	Quiet time.Duration
}

// ParseUntil reads "exit", "idle", "text=RE" and "quiet=D".
func ParseUntil(until string) (Condition, error) {
	kind, arg, _ := strings.Cut(until, "=")
	switch kind {
	case "exit", "idle":
		if arg != "" {
			return Condition{}, fmt.Errorf("%s takes no value", kind)
		}
		return Condition{Exit: kind == "exit", Idle: kind == "idle"}, nil
	case "text":
		if _, err := regexp.Compile(arg); err != nil || arg == "" {
			return Condition{}, &Error{Err: fmt.Errorf("%q is not a regular expression", arg), Help: `write text=RE, as in text='tests? passed'`}
		}
		return Condition{Text: arg}, nil
	case "quiet":
		d, err := time.ParseDuration(arg)
		if err != nil || d <= 0 {
			return Condition{}, &Error{Err: fmt.Errorf("%q is not a duration", arg), Help: "write quiet=30s"}
		}
		return Condition{Quiet: d}, nil
	}
	return Condition{}, &Error{Err: fmt.Errorf("unknown condition %q", until), Help: "valid: exit, idle, text=RE, quiet=D"}
}
