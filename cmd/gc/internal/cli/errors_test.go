package cli

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"

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
		{Quiet(4), 4, ""},
		{errors.New("one\ntwo\n"), 1, "gc: one; two\n"},
		{fmt.Errorf("start x: %w", runtime.ErrSessionExists), 1, "gc: start x: session already exists\nhint: gc session kill NAME ends the running one\n"},
		{fmt.Errorf("x: %w", runtime.ErrSessionNotFound), 3, "gc: x: session not found\nhint: gc session list --all\n"},
		{fmt.Errorf("wait: %w", runtime.ErrUnsupported), 5, "gc: wait: not supported by this provider\n"},
		{fmt.Errorf("peek: %w", api.ErrUnreachable), 4, "gc: peek: the mux server does not answer\nhint: gc mux status\n"},
		{fmt.Errorf("attach x: %w", &attach.SignalError{Signal: syscall.SIGTERM}), 143, "gc: attach x: ended by signal: terminated\n"},
		{Fail(124, "", "a: exit did not happen"), 124, "gc: a: exit did not happen\n"},
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
		if got := Report(&b, nil, c.err); got != c.status || b.String() != c.text {
			t.Errorf("report(%v) = %d\n%swant %d\n%s", c.err, got, b.String(), c.status, c.text)
		}
	}
}
