package tui

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
)

// ours are the sequences that a row may have: SGR and CHA.
var ours = regexp.MustCompile("\x1b\\[[0-9;]*[mG]")

func TestAnswer(t *testing.T) {
	p := sit(t, 120, 24)
	p.presses("2")
	p.wants("Answer web/coder: No? [y/n]", "Delete the branch?")
	p.presses("n")
	p.did()
	p.presses("3")
	p.wants("web/coder has no such option")
	p.presses("1", "y")
	p.did("answer web/coder: Yes")
	p.wants("web/coder: answered Yes")
	p.list.choose("mayor")
	p.presses("1")
	p.wants("mayor asks nothing")
}

// TestAnswerOfAnotherQuestion: neither a question that changes before the confirmation nor
// one that changes after it gets the answer.
func TestAnswerOfAnotherQuestion(t *testing.T) {
	p := sit(t, 120, 24)
	p.presses("1")
	s := town()
	s.Agents[1].Question = &fleet.Question{Request: "r2", Prompt: "Delete everything?", Options: []string{"Yes", "No"}}
	p.send(snapshotMsg(s))
	p.wants("the question has changed; nothing was answered")
	p.presses("y")
	p.did()
	p.presses("esc")
	p.fake.AnswerErr = fleet.ErrChanged
	p.presses("1", "y")
	p.wants("the question has changed; nothing was answered")
	p.presses("j", "k")
	p.wants("the question has changed; nothing was answered", "esc dismisses")
	p.presses("esc")
	p.wantsNot("nothing was answered")
	p.fake.AnswerErr = errors.Join(fleet.ErrChanged, errors.New("it is still open after Enter"))
	p.presses("1", "y")
	p.wants("web/coder: it is still open after Enter")
	p.wantsNot("has changed")
}

func TestDestructiveAsksOnce(t *testing.T) {
	p := sit(t, 80, 24)
	p.presses("i")
	p.did("interrupt web/coder")
	p.presses("r")
	p.did("interrupt web/coder")
	p.wants("Restart web/coder? [y/n]")
	p.presses("x", "enter", "s", "esc", "z", "y")
	p.did("interrupt web/coder", "restart web/coder", "suspend web/coder")
	p.presses("t")
	p.wants("cannot start web/coder: it is running")
	p.fake.DoErr = errors.New("controller: no")
	p.presses("i", "j")
	p.wants("web/coder: interrupt: controller: no", "esc dismisses")
}

func TestComposer(t *testing.T) {
	p := sit(t, 80, 24)
	p.list.choose("mayor")
	p.presses("n", "'first", "enter", "'second q")
	p.wants("to mayor", "first", "second q", "ctrl-s send")
	if c := p.picture().Cursor; !c.Shown {
		t.Error("no cursor")
	}
	p.presses("esc")
	p.wantsNot("second")
	p.presses("n")
	p.wants("second q")
	p.fake.Receipt = fleet.Receipt{State: "unverified", Detail: "the screen did not change"}
	p.presses("ctrl+s")
	p.did("nudge mayor: first\nsecond q")
	p.presses("j", "k")
	p.wants("mayor: not submitted: unverified, the screen did not change")
	p.presses("esc")
	p.wantsNot("not submitted")
	// What was not submitted is still the draft.
	p.fake.Receipt = fleet.Receipt{State: fleet.Submitted}
	p.presses("n", "ctrl+s")
	p.wants("mayor: submitted")
	p.presses("n")
	p.wantsNot("second")
	p.presses("tab", "'later", "ctrl+s")
	p.did("nudge mayor: first\nsecond q", "nudge mayor: first\nsecond q", "queue mayor: later")
	// A paste is text, whatever it has in it.
	p.presses("n")
	p.send(tea.PasteMsg{Content: "two\nlines"})
	p.presses("ctrl+s")
	if got := p.fake.Done(); got[len(got)-1] != "nudge mayor: two\nlines" {
		t.Errorf("%q", got)
	}
}

func TestAnswerWithText(t *testing.T) {
	p := sit(t, 80, 24)
	p.presses("a")
	p.wants("does not ask for a text")
	s := town()
	s.Agents[1].Question.Text = true
	p.send(snapshotMsg(s))
	p.presses("a", "'because", "ctrl+s")
	p.did("answer web/coder: because")
}

func TestMessages(t *testing.T) {
	p := sit(t, 80, 24)
	p.presses("m")
	p.wants("queued", "later", "dead", "timeout: never")
	p.presses("r")
	p.wants("only a dead letter")
	p.presses("c")
	p.wants("Cancel the message to mayor?")
	p.presses("y", "j", "r")
	p.did("cancel m1", "retry m2")
	p.presses("esc")
	p.wants("Needs you")
}

func TestQuit(t *testing.T) {
	for _, key := range []string{"q", "ctrl+c"} {
		p := sit(t, 80, 24)
		p.presses(key)
		if !p.quit {
			t.Errorf("%s: still there", key)
		}
	}
	p := sit(t, 80, 24)
	p.presses("?", "ctrl+c")
	if p.quit {
		t.Error("ctrl-c left more than the help")
	}
	p.wants("Needs you")
}

func TestTeller(t *testing.T) {
	p := sit(t, 80, 24)
	if !strings.Contains(p.told, "\x1b]7501;state=blocked") || strings.Contains(p.told, "\x1b]9;") {
		t.Errorf("at first: %q", p.told)
	}
	p.told = ""
	p.send(snapshotMsg(town()))
	if p.told != "" {
		t.Errorf("nothing new: %q", p.told)
	}
	s := town()
	s.Attention = append(s.Attention, fleet.Attention{ID: "c/1", Kind: "crashed", Agent: "mayor", Text: "exit \x1b]0;x\x07 1"})
	p.send(snapshotMsg(s))
	if want := "\x1b]9;mayor: crashed: exit \\x1b]0;x\\a 1\x1b\\\a"; p.told[:min(len(p.told), len(want))] != want {
		t.Errorf("told %q, want %q", p.told, want)
	}
	if got := p.picture().Title; got != "(2) gc town" {
		t.Errorf("title %q", got)
	}
	p.told = ""
	p.send(snapshotMsg(fleet.Snapshot{Name: "town"}))
	if !strings.Contains(p.told, "\x1b]7501;state=clear:id=gc") {
		t.Errorf("told %q", p.told)
	}
}
