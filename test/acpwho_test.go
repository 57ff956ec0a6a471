//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/acpsh"
	cityapi "gascity.dev/gc/internal/controller/api"
)

// acts returns what was done to the agent a, as "kind what by whom".
func (c *liveCity) acts(kind string) (out []string) {
	c.t.Helper()
	text := c.gc("--city", c.path, "events", "--kind", kind, "--json")
	for line := range strings.Lines(text) {
		var e cityapi.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			c.t.Fatal(err)
		}
		if e.Agent == "a" && e.Why != "asked" {
			out = append(out, fmt.Sprintf("%s %s by %s", e.Kind, strings.TrimSpace(e.Why+" "+e.Detail), e.By))
		}
	}
	return out
}

// happens does something, and waits until that is the one new act of its kind, by this
// author.
func (c *liveCity) happens(act, by string, do func()) {
	c.t.Helper()
	kind, _, _ := strings.Cut(act, " ")
	before := len(c.acts(kind))
	do()
	list := []string(nil)
	show := func() string { return fmt.Sprintf("want %q by %s, have\n%s", act, by, strings.Join(list, "\n")) }
	eventually(c.t, show, func() bool { list = c.acts(kind)[before:]; return len(list) > 0 })
	if len(list) != 1 || !strings.HasPrefix(list[0], act) || !strings.Contains(list[0], " by "+by) {
		c.t.Error(show())
	}
}

// The audit names who sent a message, answered and interrupted, once each, for an agent
// over ACP as for one on a terminal.
func TestActsOnAnAgentOverACPHaveTheirAuthors(t *testing.T) {
	command, err := acpsh.Command("exec cat")
	if err != nil {
		t.Fatal(err)
	}
	c := newCity(t, fmt.Sprintf("[[agents]]\nname = \"a\"\nsession = \"acp\"\nstart_command = \"sh\"\nacp_command = %q\n[[agents]]\nname = \"boss\"\nstart_command = \"sh\"\n", command))
	c.gc("--city", c.path, "start")
	rests := func() { c.gc("--city", c.path, "session", "wait", "gc-live-a", "--until", "idle", "--timeout", "15s") }
	asks := func() {
		t.Helper()
		rests()
		c.gc("--city", c.path, "nudge", "a", "ASK execute Yes No", "--delivery", "immediate")
		c.gc("--city", c.path, "session", "wait", "gc-live-a", "--until", "blocked", "--timeout", "15s")
	}
	atTerminal := func(args ...string) func() {
		return func() { c.sit(80, 24, append([]string{"--city", c.path}, args...)...).done() }
	}
	fromBoss := func(args string) func() {
		return func() { c.gc("--city", c.path, "nudge", "boss", gcBin+" --city "+c.path+" "+args, "--raw") }
	}

	c.happens("nudge submitted", "terminal ", atTerminal("nudge", "a", "hello", "--delivery", "immediate"))
	asks()
	c.happens(`answered "No"`, "terminal ", atTerminal("respond", "a", "--option", "No"))
	rests()
	c.gc("--city", c.path, "nudge", "a", "HOLD", "--delivery", "immediate")
	c.happens("interrupted", "terminal ", atTerminal("interrupt", "a"))

	rests()
	c.happens("nudge submitted", "agent boss", fromBoss("nudge a hi --delivery immediate"))
	asks()
	c.happens(`answered "Yes"`, "agent boss", fromBoss("respond a --option Yes"))

	asks()
	p := c.sit(80, 24, "--city", c.path, "attach", "a")
	p.sees(`^❯ 1\. Yes`)
	c.happens(`answered "No"`, "person in attach", func() { p.types("2") })
	rests()
	p.types("HOLD\r")
	p.sees(`^holding`)
	c.happens("interrupted", "person in attach", func() { p.types("\x1b") })
	if gone := c.acts("question"); len(gone) > 0 {
		t.Errorf("answers without an author:\n%s", strings.Join(gone, "\n"))
	}
}
