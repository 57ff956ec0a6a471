package vt_test

import (
	"fmt"
	"testing"

	"gascity.dev/gc/vt"
)

// colorsOf returns what a terminal says about its colours.
func colorsOf(term *vt.Terminal, query string) string {
	term.TakeReplies()
	term.Write([]byte(query))
	return string(term.TakeReplies())
}

// shownState is the title, pointer and progress that the terminal announced by the last
// event of each kind.
type shownState struct {
	title, pointer string
	state, percent int
}

func (s *shownState) follow(term *vt.Terminal) string {
	for _, e := range term.TakeEvents() {
		switch e.Kind {
		case vt.EventTitle:
			s.title = e.Text
		case vt.EventPointer:
			s.pointer = e.Text
		case vt.EventProgress:
			s.state, s.percent = e.State, e.Percent
		}
	}
	return fmt.Sprintf("%+v", *s)
}

// A paint sets colours, pointer and progress; the next one resets what the session had
// set, also before RIS, and what it never set stays the person's.
func TestPaintSetsWhatLasts(t *testing.T) {
	const (
		own    = "\x1b]19;rgb:1212/3434/5656\x1b\\"
		colors = "\x1b]4;1;?\x1b\\\x1b]4;200;?\x1b\\\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b]12;?\x1b\\\x1b]17;?\x1b\\"
	)
	term, host := mustNew(t, vt.Options{}), mustNew(t, vt.Options{})
	host.Write([]byte(own + "\x1b]2;mine\a\x1b[22;0t"))
	shown := shownState{title: "mine"}
	for i, step := range []struct {
		out  string
		want shownState
	}{
		{
			"\x1b]4;1;rgb:11/22/33;200;rgb:44/55/66\a\x1b]11;rgb:01/02/03\a\x1b]12;rgb:aa/bb/cc\a\x1b]17;rgb:0a/0b/0c\a" +
				"\x1b]22;wait\a\x1b]9;4;1;37\a\x1b]2;busy\a",
			shownState{"busy", "wait", 1, 37},
		},
		{"\x1b]104;1\a\x1b]111\a\x1b]22;\a\x1b]9;4;0\a\x1b]2;\a", shownState{title: "mine"}},
		{"\x1bc\x1b]10;rgb:99/99/99\a", shownState{title: "mine"}},
		{"\x1b]9;4;3\a", shownState{title: "mine", state: 3}},
	} {
		term.Write([]byte(step.out))
		session, err := vt.Restore(term.Snapshot(), vt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		host.Write(session.AppendPaint(nil, vt.PaintOptions{Again: i > 0}))
		if got, want := colorsOf(host, colors), colorsOf(session, colors); got != want {
			t.Errorf("step %d: the host terminal has the colours\n%q, the session\n%q", i, got, want)
		}
		if got := colorsOf(host, "\x1b]19;?\x1b\\"); got != own {
			t.Errorf("step %d: the person's own colour is %q", i, got)
		}
		if got, want := shown.follow(host), fmt.Sprintf("%+v", step.want); got != want {
			t.Errorf("step %d: shown is %s, want %s", i, got, want)
		}
	}
}
