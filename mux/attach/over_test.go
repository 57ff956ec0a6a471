//go:build unix

package attach

import (
	"context"
	"strings"
	"testing"

	"gascity.dev/gc/mux/attach/menu"
	"gascity.dev/gc/vt"
)

// TestAttachWelcome: the line that says how to leave is gone after detach.
func TestAttachWelcome(t *testing.T) {
	_, _, p, r := attachDemo(t, func(o *Options) { o.Welcome = "gc: demo; ctrl-b d detaches" })
	p.Sees("gc: demo; ctrl-b d detaches")
	p.Types("\x02d")
	r.want(Detached)
	p.CheckRestored()
	p.Sees("\x1b[23;0t") // the last byte
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if text := p.Screen.Text(vt.TextOptions{}); strings.Contains(text, "detaches") || !strings.Contains(text, "first screen") {
		t.Errorf("the terminal shows\n%s", text)
	}
}

// TestCopyModeOfAnOlderServer: a server that has no histories to read is said to be older,
// and the session is shown again at a key, which it does not get.
func TestCopyModeOfAnOlderServer(t *testing.T) {
	keys, err := ParseKeys("", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, c, p, r := attachDemo(t, func(o *Options) { o.Keys = &keys })
	p.Types("\x02[")
	p.Shows("older than copy mode; gc mux upgrade replaces it")
	p.Types("x")
	c.resize() // it asks for a paint
	c.paint("painted again")
	p.Shows("painted again")
	p.Types("y\x02d")
	if got := c.rest(); got != "y" {
		t.Errorf("the session got %q", got)
	}
	r.want(Detached)
	p.CheckRestored()
}

// TestAttachSwitches: the choice ends the attachment, and what was typed to make it does
// not reach the session.
func TestAttachSwitches(t *testing.T) {
	keys, err := ParseKeys("ctrl-a x", map[string][]string{"switch": {"w"}})
	if err != nil {
		t.Fatal(err)
	}
	_, c, p, r := attachDemo(t, func(o *Options) {
		o.Keys = &keys
		o.Choices = func(context.Context) ([]menu.Item, error) {
			return []menu.Item{{Name: "demo"}, {Name: "other", About: "sleeps"}}, nil
		}
	})
	p.Types("ls\x01w")
	p.Sees("other  sleeps")
	p.Types("oth\rrest")
	res := r.want(Switched)
	if res.To != "other" {
		t.Errorf("switched to %q", res.To)
	}
	if got := c.rest(); got != "ls" {
		t.Errorf("the session got %q", got)
	}
	p.CheckRestored()
}

func TestParseKeys(t *testing.T) {
	for _, c := range []struct {
		detach  string
		changes map[string][]string
		want    map[Do]string
	}{
		{"", nil, map[Do]string{DoDetach: "ctrl-b d", DoCopy: "ctrl-b [", DoHelp: "ctrl-b ?", DoSwitch: "ctrl-b s", DoRefresh: "ctrl-b r"}},
		{"ctrl-q", nil, map[Do]string{DoDetach: "ctrl-q"}},
		{"ctrl-q", map[string][]string{"prefix": {"ctrl-a"}, "help": {}}, map[Do]string{DoDetach: "ctrl-q", DoCopy: "ctrl-a [", DoSwitch: "ctrl-a s", DoRefresh: "ctrl-a r"}},
		{"ctrl-p,ctrl-q", nil, map[Do]string{DoDetach: "ctrl-p,ctrl-q", DoCopy: "ctrl-p [", DoHelp: "ctrl-p ?", DoSwitch: "ctrl-p s", DoRefresh: "ctrl-p r"}},
		{"none", nil, nil},
		{"", map[string][]string{"prefix": {"none"}}, map[Do]string{DoDetach: "ctrl-b d"}},
		{"", map[string][]string{"prefix": {"M-a"}, "detach": {"x"}, "copy": {"Space"}}, map[Do]string{DoDetach: "M-a x", DoCopy: "M-a Space", DoHelp: "M-a ?", DoSwitch: "M-a s", DoRefresh: "M-a r"}},
	} {
		k, err := ParseKeys(c.detach, c.changes)
		if err != nil {
			t.Errorf("%q, %v: %v", c.detach, c.changes, err)
			continue
		}
		for _, do := range []Do{DoDetach, DoCopy, DoHelp, DoSwitch, DoRefresh} {
			if got := k.Of(do); got != c.want[do] {
				t.Errorf("%q, %v: %s has %q, want %q", c.detach, c.changes, do, got, c.want[do])
			}
		}
		k.Help()
	}
	for name, changes := range map[string]map[string][]string{
		"unknown command": {"copi": {"["}}, "unknown key": {"copy": {"PageUpp"}}, "unknown action": {"copy.upp": {"k"}},
		"one key twice": {"copy": {"x"}, "help": {"x"}}, "no prefix": {"prefix": {"ctrl-bb"}},
	} {
		if _, err := ParseKeys("", changes); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			t.Log(err)
		}
	}
}
