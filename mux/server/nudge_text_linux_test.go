package server

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
)

var testComposer = api.Composer{Commands: []string{"!", "/"}, Openers: []string{"@"}, Mark: "⠀", Clear: []string{"C-u"}}

// startAgent runs the composer of an agent with slash commands.
func startAgent(t *testing.T, c *client.Client, name string, comp api.Composer) (out string) {
	t.Helper()
	return startComposer(t, c, name, "agent", comp)
}

func startComposer(t *testing.T, c *client.Client, name, mode string, comp api.Composer) (out string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out = t.TempDir() + "/out"
	_, err = c.Create(t.Context(), api.CreateRequest{
		Name: name, Argv: []string{exe}, ReadyPrefix: "> ", Composer: comp,
		Env: append([]string{receiverVar + "=" + mode, "MUX_TEST_OUT=" + out}, testEnv...),
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, name, "^> ?$")
	return out
}

// TestNudgeArrivesAsText: text that the agent would take for a command is marked, and the
// receipt says so, unless it is typed raw.
func TestNudgeArrivesAsText(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	out := startAgent(t, c, "a", testComposer)
	nudge := func(text string, raw bool) api.Receipt {
		t.Helper()
		r, err := c.Nudge(t.Context(), "a", api.NudgeRequest{Text: text, Raw: raw})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := nudge("!rm -rf x", false); r.State != api.Submitted || !strings.Contains(r.Changed, "!rm is a command") {
		t.Errorf("a shell command: %+v", r)
	}
	if r := nudge("two\n!lines", false); r.State != api.Submitted || r.Changed != "" {
		t.Errorf("a plain text: %+v", r)
	}
	if r := nudge("see @main.go", false); r.State != api.Submitted || !strings.Contains(r.Changed, "@main.go takes Enter") {
		t.Errorf("an open picker: %+v", r)
	}
	if r := nudge("!date", true); r.State != api.Submitted || r.Changed != "" {
		t.Errorf("raw: %+v", r)
	}
	if got, want := submitted(t, out), []string{"⠀!rm -rf x", "two\n!lines", "see @main.go ", "!date"}; !slices.Equal(got, want) {
		t.Errorf("arrived: %q, want %q", got, want)
	}
}

// TestNudgeClearsItsOwnDraft: a message that an agent did not take does not
// block the next, but a person's text is never discarded.
func TestNudgeClearsItsOwnDraft(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	out := startAgent(t, c, "a", testComposer)
	for _, text := range []string{"/nosuch thing", "/nosuch\nof three\nlines"} {
		if r, err := c.Nudge(t.Context(), "a", api.NudgeRequest{Text: text, Raw: true}); err != nil || r.State != api.Drafted {
			t.Fatalf("an unknown command: %+v, %v", r, err)
		}
		r, err := c.Nudge(t.Context(), "a", api.NudgeRequest{Text: "go on", Timeout: time.Minute})
		if err != nil || r.State != api.Submitted || !strings.Contains(r.Changed, "was cleared") {
			t.Fatalf("the next one: %+v, %v", r, err)
		}
	}
	if got := submitted(t, out); !slices.Equal(got, []string{"go on", "go on"}) {
		t.Errorf("arrived: %q", got)
	}
	startAgent(t, c, "demo", testComposer)
	if r, err := c.Nudge(t.Context(), "demo", api.NudgeRequest{Text: "/nosuch", Raw: true}); err != nil || r.State != api.Drafted {
		t.Fatalf("an unknown command: %+v, %v", r, err)
	}
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("/nosuch")
	p.Types("x")
	await(t, c, "demo", "/nosuchx")
	p.Types("\x02d")
	r.want(attach.Detached) // the person no longer has a draft
	if r, err := c.Nudge(t.Context(), "demo", api.NudgeRequest{Text: "go on", Timeout: 50 * time.Millisecond}); err != nil || r.State != api.Blocked || r.By != "draft" {
		t.Errorf("a person has typed into it: %+v, %v", r, err)
	}
}

// TestNudgeStaysInDrawnComposer: a program that paints its own cursor ignores Enter at
// first, or hides its composer after it. Whatever else changes on the screen, the text in
// its composer is not submitted, and Enter is pressed once more.
func TestNudgeStaysInDrawnComposer(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for _, mode := range []string{"drawn", "loads", "starved"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			out := startComposer(t, c, mode, mode, api.Composer{})
			r, err := c.Nudge(t.Context(), mode, api.NudgeRequest{Text: "a message"})
			if err != nil || r.State != api.Submitted {
				t.Fatal(r, err)
			}
			if got := submitted(t, out); !slices.Equal(got, []string{"a message"}) {
				t.Errorf("arrived: %q", got)
			}
		})
	}
}

// TestNudgeNeverInSight: a screen that changes for another reason proves nothing about a
// short message that it never showed.
func TestNudgeNeverInSight(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "a", `stty raw -echo; echo up; (while :; do printf 'tick\r\n'; sleep 0.05; done) & exec cat > /dev/null`)
	await(t, c, "a", "^up")
	r, err := c.Nudge(t.Context(), "a", api.NudgeRequest{Text: "a message"})
	if err != nil || r.State != api.Unverified {
		t.Fatal(r, err)
	}
}

// TestNudgeWaitsForAStarvedProgram: a program that reads nothing for four seconds gets
// its message.
func TestNudgeWaitsForAStarvedProgram(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir() + "/out"
	_, err = c.Create(t.Context(), api.CreateRequest{
		Name: "a", Command: "stty raw -echo; echo up; sleep 4; exec " + exe,
		Env: append([]string{receiverVar + "=plain", "MUX_TEST_OUT=" + out}, testEnv...),
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, "a", "^up")
	r, err := c.Nudge(t.Context(), "a", api.NudgeRequest{Text: "a message"})
	if err != nil || r.State != api.Submitted {
		t.Fatal(r, err)
	}
	if got := submitted(t, out); !slices.Equal(got, []string{"a message"}) {
		t.Errorf("arrived: %q", got)
	}
}
