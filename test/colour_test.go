//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	"gascity.dev/gc/vt"
)

// sameColours compares text with attributes, as both dump them.
func (p *pair) sameColours() {
	p.t.Helper()
	p.equal(func() (string, string) {
		one := p.gc("session", "peek", name, "--format", "ansi")
		two := strings.TrimSuffix(p.tmux("capture-pane", "-p", "-e", "-t", name), "\n")
		return p.rendition(one), p.rendition(strings.ReplaceAll(two, "\n", "\r\n"))
	})
}

// rendition feeds a dump to a terminal, and formats its rows with the
// attributes before each run of text.
func (p *pair) rendition(dump string) string {
	p.t.Helper()
	t, err := vt.New(vt.Options{Cols: cols, Rows: rows})
	if err != nil {
		p.t.Fatal(err)
	}
	_, _ = t.Write([]byte(dump))
	var out strings.Builder
	for _, line := range t.Screen().Lines {
		out.WriteString(strings.TrimRight(lineRendition(line), " ") + "\n")
	}
	return strings.TrimRight(out.String(), "\n")
}

func lineRendition(line vt.Line) string {
	var cells []struct {
		r rune
		s vt.Style
	}
	for _, run := range line.Runs {
		for _, r := range run.Text {
			s := run.Style
			if r == ' ' {
				s = vt.Style{BG: s.BG, Inverse: s.Inverse, Underline: s.Underline} // the visible part of a blank
			}
			cells = append(cells, struct {
				r rune
				s vt.Style
			}{r, s})
		}
	}
	// Neither dump defines the extent of trailing blanks.
	for len(cells) > 0 && cells[len(cells)-1].r == ' ' {
		cells = cells[:len(cells)-1]
	}
	var out strings.Builder
	var last vt.Style
	for _, c := range cells {
		if c.s != last {
			fmt.Fprintf(&out, "{%s}", styleText(c.s))
			last = c.s
		}
		out.WriteRune(c.r)
	}
	return out.String()
}

// styleText formats a style in the words of the JSON format.
func styleText(s vt.Style) string {
	data, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return strings.NewReplacer(`"`, "", "{", "", "}", "", ":true", "").Replace(string(data))
}
