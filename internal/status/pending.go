package status

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"sync"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/vt"
)

// pending returns the question of a finding.
func (d *Detector) pending(x Finding) *Pending {
	if d.display.open {
		p := d.display.pending
		p.Kind = x.Kind
		return &p
	}
	if x.Source == FromScreen {
		return &Pending{Kind: x.Kind, Prompt: d.display.ruleLine, Selected: -1, ID: fingerprint(x.Source, x.Kind, d.display.ruleLine)}
	}
	if x.Source == FromHook {
		return d.toldPending(x)
	}
	return d.reportPending(x)
}

// reportPending returns the question that the program reported.
func (d *Detector) reportPending(x Finding) *Pending {
	r, _ := d.s.reported()
	p := Pending{Kind: x.Kind, Prompt: r.Msg, Context: r.Title, Selected: -1}
	p.ID = fingerprint(x.Source, r.ID, r.Kind, r.Msg, r.Since.String())
	return &p
}

// menuPending returns a menu's question.
func menuPending(view rule.DialogView, f rule.Found) Pending {
	q := view.Question(f)
	p := Pending{
		ID: q.ID, Kind: q.Kind, Prompt: q.Prompt, Context: q.Context, Options: q.Options, Selected: q.Marked,
		Horizontal: q.Horizontal, Dialog: q.Dialog,
	}
	if q.Marked >= 0 {
		p.Marked = p.Options[q.Marked]
	}
	return p
}

// DialogViewOf returns the screen as input for finding dialogs.
func DialogViewOf(t *vt.Terminal, ready string) rule.DialogView {
	s := rule.TextView(t.ScreenText())
	s.Ready = ready
	if c := t.Cursor(); c.Visible {
		s.Cursor = c.Row
	}
	var shades [][]string // of each row, by column; read on demand
	s.Shade = func(row, col int) string {
		if shades == nil {
			shades = shadesOf(t.Screen())
		}
		if row >= len(shades) || col >= len(shades[row]) {
			return ""
		}
		return shades[row][col]
	}
	return s
}

// shadesOf returns the backgrounds of all characters.
func shadesOf(screen vt.Screen) [][]string {
	out := make([][]string, len(screen.Lines))
	for i, line := range screen.Lines {
		for _, run := range line.Runs {
			shade := string(run.Style.BG)
			if run.Style.Inverse {
				shade = "inverse " + string(run.Style.FG)
			}
			for range run.Text {
				out[i] = append(out[i], shade)
			}
		}
	}
	return out
}

var yesNo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)[\[(](y/n|yes/no)(/[^\])]*)?[\])]\s*[:?>]?$`)
})

// asksYesNo reports whether a line ends with a yes/no question.
func asksYesNo(line string) bool { return yesNo().MatchString(strings.TrimSpace(line)) }

func linePending(line string) Pending {
	line = strings.TrimSpace(line)
	return Pending{ID: fingerprint(line), Kind: Question, Prompt: line, Selected: -1}
}

// fingerprint identifies a question.
func fingerprint(parts ...string) string {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p)) // never fails
		_, _ = h.Write([]byte{0})
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
