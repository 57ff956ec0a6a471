//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/acpsh"
)

// newACP starts a city with the agent a, which speaks ACP and says what it is told.
func newACP(t *testing.T) *liveCity {
	command, err := acpsh.Command("exec cat")
	if err != nil {
		t.Fatal(err)
	}
	c := newCity(t, fmt.Sprintf("[[agents]]\nname = \"a\"\nsession = \"acp\"\nstart_command = \"sh\"\nacp_command = %q\n", command))
	c.gc("--city", c.path, "start")
	return c
}

// oneMenu waits until the text of the person's terminal, scrollback included, has one
// menu, at its end.
func (p *person) oneMenu() {
	p.t.Helper()
	option := regexp.MustCompile(`(?m)^[❯ ] [0-9]\. `)
	eventually(p.t, func() string { return "no menu with two options in\n" + p.everything() }, func() bool {
		return len(option.FindAllString(p.everything(), -1)) == 2
	})
}

// A person on a narrow terminal answers, pastes, cancels, completes, and leaves.
func TestAttachToAnAgentOverACP(t *testing.T) {
	c := newACP(t)
	p := c.sit(40, 20, "--city", c.path, "attach", "a")
	p.sees(`idle`)

	p.types("ASK execute Yes No\r")
	p.sees(`^❯ 1\. Yes`)
	p.types("\x1b[B")
	p.sees(`^❯ 2\. No`)
	p.oneMenu()
	p.types("\r")
	p.sees(`^chose No`)
	p.sees(`^  idle`)

	p.types("ASK execute Now Later\r")
	p.sees(`^❯ 1\. Now`)
	for _, size := range [][2]int{{30, 12}, {41, 5}, {70, 30}, {21, 8}, {39, 5}, {40, 20}} {
		p.resize(size[0], size[1])
		c.becomesWide(size[0])
		p.sees(`^❯ 1\. Now`)
		p.oneMenu()
		if all := c.gc("--city", c.path, "peek", "a", "--all"); strings.Count(all, "? execute asks for") != 1 {
			t.Errorf("%v: the session shows\n%s", size, all)
		}
	}
	p.types("2")
	p.sees(`^chose Later`)

	p.types("\x1b[200~first line\rsecond line\x1b[201~")
	p.sees(`^› first line\n^  second line`)
	p.types("\r")
	p.sees(`^first line\n^second line`)
	if n := strings.Count(p.everything(), "› first line"); n != 1 {
		t.Errorf("%d prompts", n)
	}

	p.types("HOLD\r")
	p.sees(`^holding`)
	p.types("\x1b")
	p.sees(`^  idle`)

	p.types("/re\t")
	p.sees(`/review  look`)
	p.types("v\t")
	p.sees(`^› /review$`)
	p.types("\x15")

	p.types("\x02d")
	p.done()
	p.restored()
	again := c.sit(40, 20, "--city", c.path, "attach", "a")
	again.sees(`^holding`)
	again.types("still there\r")
	again.sees(`^still there`)
}

// Two people at terminals of different sizes see one menu each; whoever answers first
// answers for both.
func TestTwoPeopleAtAnAgentOverACP(t *testing.T) {
	c := newACP(t)
	one := c.sit(100, 30, "--city", c.path, "attach", "a")
	two := c.sit(40, 12, "--city", c.path, "attach", "a")
	one.sees(`idle`)
	two.sees(`idle`)
	one.types("ASK execute Yes No\r")
	two.sees(`^❯ 1\. Yes`)
	for range 3 { // the size follows whoever typed last
		two.types("\x1b[B")
		c.becomesWide(40)
		two.sees(`^❯ 2\. No`)
		one.sees(`^❯ 2\. No`)
		one.types("\x1b[A")
		c.becomesWide(100)
		one.sees(`^❯ 1\. Yes`)
		two.sees(`^❯ 1\. Yes`)
	}
	one.oneMenu()
	two.oneMenu()
	two.types("2")
	one.sees(`^chose No`)
	two.sees(`^chose No`)
	for _, p := range []*person{one, two} {
		p.types("\x02d")
		p.done()
		p.restored()
	}
}

// An agent asks for a value and for text: each is shown, answered, and can be refused.
func TestFormsOverACP(t *testing.T) {
	c := newACP(t)
	city := func(args ...string) string { return c.gc(append([]string{"--city", c.path}, args...)...) }
	asks := func(prompt string, want ...string) {
		t.Helper()
		city("session", "wait", "gc-live-a", "--until", "idle", "--timeout", "15s")
		city("nudge", "a", prompt, "--delivery", "immediate")
		city("session", "wait", "gc-live-a", "--until", "blocked", "--timeout", "15s")
		shown := city("pending", "a")
		for _, text := range want {
			if !strings.Contains(shown, text) {
				t.Errorf("%s: no %q in\n%s", prompt, text, shown)
			}
		}
	}
	says := func(text string) {
		t.Helper()
		eventually(t, func() string { return city("peek", "a") }, func() bool { return strings.Contains(city("peek", "a"), text) })
	}
	asks("FORM red blue", "question: which one?", "1. red", "2. blue", "3. Decline")
	city("respond", "a", "--option", "blue")
	says("filled in blue")
	asks("FORM red blue")
	city("respond", "a", "--option", "Decline")
	says("declined")
	asks("FORM", "question: which one?", "1. Decline")
	city("respond", "a", "--text", "my own words")
	says("filled in my own words")

	p := c.sit(60, 20, "--city", c.path, "attach", "a")
	asks("FORM")
	p.sees(`  1\. Decline`)
	p.types("1 of them\r") // no option: it is the answer
	p.sees(`^filled in 1 of them`)
	asks("FORM")
	p.types("\x1b[B\r")
	eventually(t, p.screen, func() bool { return strings.Count(p.everything(), "\ndeclined") == 2 })
}

// becomesWide waits until the agent's terminal has so many columns.
func (c *liveCity) becomesWide(cols int) {
	c.t.Helper()
	eventually(c.t, func() string { return fmt.Sprintf("%+v is not %d columns wide", c.live("a"), cols) }, func() bool { return c.live("a").Size.Cols == cols })
}
