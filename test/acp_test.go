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
	for _, size := range [][2]int{{30, 12}, {70, 30}, {21, 8}, {40, 20}} {
		p.resize(size[0], size[1])
		c.becomesWide(size[0])
		p.sees(`^❯ 1\. Now`)
		p.oneMenu()
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

// becomesWide waits until the agent's terminal has so many columns.
func (c *liveCity) becomesWide(cols int) {
	c.t.Helper()
	eventually(c.t, func() string { return fmt.Sprintf("%+v is not %d columns wide", c.live("a"), cols) }, func() bool { return c.live("a").Size.Cols == cols })
}
