package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/charmbracelet/x/ansi"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
)

// How the terminal is told that somebody is needed, as notify.terminal of city.toml.
const (
	TellOSC9  = "osc9"
	TellOSC99 = "osc99"
	TellBell  = "bell"
	TellOff   = "off"
)

// maxTold is how many characters of a text a notification has.
const maxTold = 150

// teller tells the terminal that somebody is needed: a notification for each new occasion,
// and a record of OSC 7501 as long as there is one. Occasions of the first look are shown
// only, not told.
//
// Inside a session of gc there is no record: the session would need somebody because
// somebody is needed, also in what another gc ui shows.
type teller struct {
	mode   string
	inside bool
	told   map[string]bool // IDs; nil before the first look
	said   string          // the record that the terminal has
}

// tellMsg is a sequence for the terminal that shows nothing.
type tellMsg []byte

// attention returns the command that tells what is new.
func (t *teller) attention(s *fleet.Snapshot) tea.Cmd {
	if t.mode == TellOff || s.Lost != "" {
		return nil
	}
	var b strings.Builder
	first := t.told == nil
	now := map[string]bool{}
	for i := range s.Attention {
		a := &s.Attention[i]
		if now[a.ID] = true; !first && !t.told[a.ID] {
			b.WriteString(t.notification(a))
		}
	}
	t.told = now
	if record := t.record(s); !t.inside && record != t.said && (t.said != "" || len(s.Attention) > 0) {
		t.said = record
		b.WriteString(record)
	}
	if b.Len() == 0 {
		return nil
	}
	sequence := tellMsg(b.String())
	return func() tea.Msg { return sequence }
}

func (t *teller) notification(a *fleet.Attention) string {
	text, _ := cells.Cut(cells.Clean(a.Agent+": "+a.Kind+": "+a.Text), maxTold)
	switch t.mode {
	case TellBell:
		return "\a"
	case TellOSC99:
		return "\x1b]99;;" + text + "\x1b\\\a"
	}
	return "\x1b]9;" + text + "\x1b\\\a"
}

// recordID is the id of our record of OSC 7501.
const recordID = "gc"

// record is what OSC 7501 says while somebody is needed.
func (t *teller) record(s *fleet.Snapshot) string {
	n := len(s.Attention)
	if n == 0 {
		return ansi.ClearProgramStatusID(recordID)
	}
	status := ansi.ProgramStatus{ID: recordID, State: ansi.ProgramStateError, App: "gc", Title: plural(n, "needs you", "need you")}
	if slices.ContainsFunc(s.Attention, func(a fleet.Attention) bool { return a.Kind == "question" || a.Kind == "login" }) {
		status.State, status.Kind = ansi.ProgramStateBlocked, ansi.ProgramStatusKindQuestion
	}
	return ansi.SetProgramStatus(status)
}

// end takes back what the terminal was told.
func (t *teller) end() []byte {
	if t.said == "" {
		return nil
	}
	t.said = ""
	return []byte(ansi.ClearProgramStatusID(recordID))
}

// windowTitle is the title of the terminal's window.
func (m *model) windowTitle() string {
	title := "gc " + m.snap.Name
	if n := len(m.snap.Attention); n > 0 {
		title = fmt.Sprintf("(%d) ", n) + title
	}
	title, _ = cells.Cut(cells.Clean(title), 80)
	return title
}
