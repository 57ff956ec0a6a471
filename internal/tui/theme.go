package tui

import (
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
)

// theme is how things look. It uses the terminal's own sixteen colours, or none.
type theme struct {
	title, heading, dim, bold, key cells.Look
	need, bad, busy, good, unknown cells.Look
	selected, match                cells.Look
}

func newTheme(colours bool) theme {
	t := theme{title: "1;7", heading: "1", dim: "2", bold: "1", key: "1", need: "1", bad: "1", selected: "7", match: "7"}
	if colours {
		t.heading, t.key = "1;36", "1;36"
		t.need, t.bad, t.busy, t.good, t.unknown = "1;33", "1;31", "32", "36", "35"
		t.match = "30;43"
	}
	return t
}

// mark is one character for how an agent is, and how it looks.
func (t theme) mark(a *fleet.Agent) (string, cells.Look) {
	switch a.State {
	case "crashed", "quarantined":
		return "✗", t.bad
	case "unknown":
		return "?", t.unknown
	case "starting":
		return "…", t.busy
	case "stopped", "exited", "suspended":
		return "-", t.dim
	}
	switch a.Status {
	case "blocked":
		return "!", t.need
	case "error", "stuck":
		return "✗", t.bad
	case "working":
		return "●", t.busy
	case "done":
		return "✓", t.good
	case "idle":
		return "○", ""
	}
	return "?", t.unknown
}

// doing is what an agent does, in a word or two: its status while it runs, else its state.
func doing(a *fleet.Agent) string {
	switch {
	case a.State != "running" && a.State != "":
		return a.State
	case a.Status == "":
		return "unknown"
	case a.Status == "blocked" && a.Kind != "":
		return "blocked " + a.Kind
	}
	return a.Status
}
