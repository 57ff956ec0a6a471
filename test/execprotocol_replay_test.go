//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// trustAgent asks whether to trust its directory, reads an arrow key and Enter,
// and then shows a prompt like an agent.
const trustAgent = `#!/bin/bash
printf '%s|' "$MULTI" > env; pwd >> env
stty -echo -icanon
sel=1
paint() {
	printf '\033[H\033[2J Do you trust the files in this folder?\n\n'
	[ $sel = 0 ] && printf ' ❯ 1. Yes, I trust this folder\n   2. No, exit\n' || printf '   1. Yes, I trust this folder\n ❯ 2. No, exit\n'
}
paint
while IFS= read -rsn1 k; do
	[ "$k" = $'\e' ] && read -rsn2 k
	case $k in '[A') sel=0 ;; '[B') sel=1 ;; '') [ $sel = 0 ] && break ;; esac
	paint
done
stty sane
printf '\033[H\033[2J> '
while read -r line; do printf 'got: %s\n> ' "$line"; done
`

// opCalls makes the calls of one session and records their durations.
type opCalls struct {
	*box
	took map[string][]time.Duration
}

// op runs an operation that must end with the given status.
func (c *opCalls) op(code int, stdin string, args ...string) string {
	c.t.Helper()
	begin := time.Now()
	r := c.runIn(stdin, append([]string{"session-op"}, args...)...)
	c.took[args[0]] = append(c.took[args[0]], time.Since(begin))
	if r.code != code {
		c.t.Fatalf("want status %d: gc %s", code, r)
	}
	return r.out
}

// is runs an operation and compares its output, trimmed as callers do.
func (c *opCalls) is(want, stdin string, args ...string) {
	c.t.Helper()
	if got := strings.TrimRight(c.op(0, stdin, args...), "\n"); got != want {
		c.t.Fatalf("session-op %s: %q, want %q", strings.Join(args, " "), got, want)
	}
}

// The calls a controller makes during a session's life, in the order and form
// recorded from one that speaks the exec session protocol: the initial listing,
// the check for a session of that name, the start with every field, the dialog
// loop, liveness and metadata of the ticks, a drain, and two stops.
func TestRecordedCallsAreServed(t *testing.T) {
	c := &opCalls{newBox(t), map[string][]time.Duration{}}
	const name = "gc-town-mayor"
	agent := c.file("trust-agent", trustAgent)
	config := map[string]any{
		"work_dir": c.dir, "command": "bash " + agent, "env": map[string]string{"GC_AGENT": "mayor", "MULTI": "one\ntwo 'q' \"d\" $HOME"},
		"process_names": []string{"trust-agent", "bash"}, "nudge": "typed later", "ready_prompt_prefix": "> ", "ready_delay_ms": 500,
		"emits_permission_warning": true, "session_setup": []string{"true"}, "fingerprint_extra": map[string]string{"a": "b"},
	}
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	c.is("", "", "list-running", "gc-town-")
	c.is("false", "", "is-running", name)
	c.op(0, string(data), "start", name)
	if r := c.runIn(string(data), "session-op", "start", name); r.code != 1 || !strings.Contains(r.err, "already exists") {
		t.Fatalf("start of a live name: %s", r)
	}
	c.is("true", "", "is-running", name)

	// Dialogs: the screen is polled until it shows one, then keys are sent.
	c.until("❯ 2. No, exit", name)
	c.is("", "", "send-keys", name, "Up")
	c.until("❯ 1. Yes, I trust", name)
	c.is("", "", "send-keys", name, "Enter")
	c.until("\n>", name)
	if env := c.read(filepath.Join(c.dir, "env")); env != "one\ntwo 'q' \"d\" $HOME|"+c.dir+"\n" {
		t.Errorf("the agent saw %q", env)
	}

	for _, kv := range [][2]string{{"GC_CONFIG_HASH", strings.Repeat("0af1", 16)}, {"GC_SESSION_ID", "s-1"}, {"GC_NOTE", "two\nlines"}} {
		c.op(0, kv[1], "set-meta", name, kv[0])
	}
	for range 5 { // ticks
		c.is("gc-town-mayor", "", "list-running", "gc-town-")
		c.is("true", "", "is-running", name)
		c.is("true", "trust-agent\nbash", "process-alive", name)
		c.is(strings.Repeat("0af1", 16), "", "get-meta", name, "GC_CONFIG_HASH")
		c.is("", "", "get-meta", name, "GC_DRAIN")
		c.is("", "", "get-meta", name, "GC_DRAIN_ACK")
		if _, err := time.Parse(time.RFC3339, strings.TrimSpace(c.op(0, "", "get-last-activity", name))); err != nil {
			t.Fatal(err)
		}
	}
	c.is("false", "nobody", "process-alive", name)
	c.is("two\nlines", "", "get-meta", name, "GC_NOTE")
	c.is("false", "", "is-attached", name)
	c.op(0, "please report", "nudge", name)
	c.until("got: please report", name)

	// The drain.
	c.op(0, fmt.Sprint(time.Now().Unix()), "set-meta", name, "GC_DRAIN")
	c.op(0, "1", "set-meta", name, "GC_DRAIN_ACK")
	c.is("1", "", "get-meta", name, "GC_DRAIN_ACK")
	c.is("", "", "remove-meta", name, "GC_DRAIN")
	c.is("", "", "interrupt", name)
	c.is("", "", "stop", name)
	c.is("", "", "stop", name)
	c.is("false", "", "is-running", name)
	c.is("false", "bash", "process-alive", name)
	c.is("", "", "get-meta", name, "GC_CONFIG_HASH")
	c.is("", "", "interrupt", name)
	c.is("", "", "list-running", "gc-town-")
	c.op(2, "", "operation-of-tomorrow", name)
	c.report()
}

// until polls the screen as such callers do.
func (c *opCalls) until(text, name string) {
	c.t.Helper()
	last := ""
	eventually(c.t, func() string { return text + " in " + last }, func() bool {
		last = "\n" + c.op(0, "", "peek", name, "120")
		return strings.Contains(last, text)
	})
}

// report logs the milliseconds per operation, for the whole process.
func (c *opCalls) report() {
	c.t.Helper()
	ops := make([]string, 0, len(c.took))
	for op := range c.took {
		ops = append(ops, op)
	}
	slices.Sort(ops)
	for _, op := range ops {
		all := slices.Sorted(slices.Values(c.took[op]))
		c.t.Logf("%-18s %3d calls, median %6.2f ms, longest %6.2f ms", op, len(all), float64(all[len(all)/2])/1e6, float64(all[len(all)-1])/1e6)
	}
}
