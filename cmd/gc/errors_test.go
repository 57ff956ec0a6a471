package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/runtime"
)

func TestReport(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{nil, 0, ""},
		{quiet(4), 4, ""},
		{errors.New("one\ntwo\n"), 1, "gc: one; two\n"},
		{fmt.Errorf("start x: %w", runtime.ErrSessionExists), 1, "gc: start x: session already exists\nhint: gc session kill NAME ends the running one\n"},
		{fmt.Errorf("x: %w", runtime.ErrSessionNotFound), 3, "gc: x: session not found\nhint: gc session list --all\n"},
		{fmt.Errorf("wait: %w", runtime.ErrUnsupported), 5, "gc: wait: not supported by this provider\n"},
		{fmt.Errorf("peek: %w", api.ErrUnreachable), 4, "gc: peek: the mux server does not answer\nhint: gc mux status\n"},
		{fmt.Errorf("attach x: %w", &attach.SignalError{Signal: syscall.SIGTERM}), 143, "gc: attach x: ended by signal: terminated\n"},
		{fail(124, "", "a: exit did not happen"), 124, "gc: a: exit did not happen\n"},
		{&cityapi.Error{Err: cityapi.ErrControllerRunning, Help: "try gc stop"}, 1, "gc: the city already has a controller\nhint: try gc stop\n"},
		{errors.New("says \x1b[31m"), 1, "gc: says \\x1b[31m\n"},
		{
			&config.Problems{List: []config.Problem{{File: "/c/city.toml", Line: 3, Msg: "first", Hint: "h"}, {File: "/c/city.toml", Line: 5, Msg: "second"}}},
			1, "gc: city.toml:3: first\nhint: h\ngc: city.toml:5: second\n",
		},
		{
			fmt.Errorf("start x: %w", &runtime.StartupDeath{Session: "x", Code: 127, Screen: "sh: nope\x1b: not found\n"}), 1,
			"sh: nope\\x1b: not found\ngc: start x: session died during startup (exit status 127)\n" +
				"hint: 127 means command not found: check the spelling and PATH\n",
		},
		{
			fmt.Errorf("start x: %w", &runtime.StartupBlocked{Session: "x", Question: "Go on?", Screen: "Go on?\n1. \x1bYes\n"}), 1,
			"Go on?\n1. \\x1bYes\ngc: start x: an unknown dialog blocks the start: \"Go on?\"\n",
		},
	} {
		var b bytes.Buffer
		if got := report(&b, nil, c.err); got != c.status || b.String() != c.text {
			t.Errorf("report(%v) = %d\n%swant %d\n%s", c.err, got, b.String(), c.status, c.text)
		}
	}
}

func TestParseCondition(t *testing.T) {
	for in, ok := range map[string]bool{
		"exit": true, "bell": true, "prompt": true, "idle": true, "blocked": true, "text=^a": true, "title=x": true, "quiet=2s": true,
		"": false, "exit=1": false, "text": false, "text=": false, "text=(": false, "quiet=0s": false, "quiet=-1s": false, "quiet=x": false, "idle=": false, "blocked=x": false,
	} {
		if _, err := parseCondition(in); (err == nil) != ok {
			t.Errorf("parseCondition(%q): %v", in, err)
		}
	}
}

// A script runs every command that is not a group.
func TestEveryCommandHasAScript(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	eachCommand(newRootCmd(&app{}), func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && !strings.Contains(all.String(), cmd.CommandPath()+" ") && !strings.Contains(all.String(), cmd.CommandPath()+"\n") {
			t.Errorf("no script runs %s", cmd.CommandPath())
		}
	})
}
