package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/internal/tui/internal/cells"
)

// crowd is a model of many agents on a terminal of 200×60.
func crowd(n int) (*model, fleet.Snapshot) {
	m := newModel(&fleetfake.Fleet{}, cells.NewColours("always", true, []string{"TERM=xterm-256color"}))
	s := fleet.Snapshot{Name: "town"}
	for i := range n {
		s.Agents = append(s.Agents, fleet.Agent{
			ID: fmt.Sprint("w-", i), Name: fmt.Sprint("w-", i), Pool: "w", State: "running", Status: "working", Since: time.Now(), LastLine: "the last line of it",
		})
	}
	m.update(tea.WindowSizeMsg{Width: 200, Height: 60})
	return m, s
}

// BenchmarkFirstPicture is what the first picture of 100 agents takes of 100 ms.
func BenchmarkFirstPicture(b *testing.B) {
	for b.Loop() {
		m, s := crowd(100)
		m.update(snapshotMsg(s))
		m.picture()
	}
}

// BenchmarkSnapshot is a change of one of 500 agents.
func BenchmarkSnapshot(b *testing.B) {
	m, s := crowd(500)
	for b.Loop() {
		m.update(snapshotMsg(s))
		m.picture()
	}
}

// BenchmarkFlood is a picture in which every row of the selected screen is another one:
// there are 30 a second at most.
func BenchmarkFlood(b *testing.B) {
	m, s := crowd(100)
	m.update(snapshotMsg(s))
	var screens [2]screenMsg
	for i := range screens {
		var text strings.Builder
		for y := range 60 {
			fmt.Fprintf(&text, "\x1b[%d;1H\x1b[3%dmrow %d of picture %d \x1b[0m%s", y+1, y%8, y, i, strings.Repeat("text ", 30))
		}
		screens[i] = screenOf(b, "w-0", 200, 60, text.String())
	}
	i := 0
	for b.Loop() {
		i = 1 - i
		m.update(screens[i])
		m.picture()
	}
}
