package vt_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"gascity.dev/gc/vt"
)

// queries are the queries of transcripts, each with one spelling of its answer.
var queries = map[string]func(p *player, arg string) (string, error){
	"cursor": func(p *player, _ string) (string, error) {
		c := p.term.Cursor()
		return fmt.Sprintf("%d,%d", c.Row, c.Col), nil
	},
	"pending": func(p *player, _ string) (string, error) { return fmt.Sprint(p.term.Cursor().PendingWrap), nil },
	"visible": func(p *player, _ string) (string, error) { return fmt.Sprint(p.term.Cursor().Visible), nil },
	"blink":   func(p *player, _ string) (string, error) { return fmt.Sprint(p.term.Cursor().Blink), nil },
	"shape":   func(p *player, _ string) (string, error) { return fmt.Sprint(p.term.Cursor().Shape), nil },
	"title":   func(p *player, _ string) (string, error) { return quoteList([]string{p.term.Title()}), nil },
	"row": func(p *player, arg string) (string, error) {
		n, err := strconv.Atoi(arg)
		return quoteList([]string{p.term.Line(n)}), err
	},
	"rows":       queryRows,
	"wrapped":    queryWrapped,
	"history":    queryHistory,
	"historylen": func(p *player, _ string) (string, error) { return fmt.Sprint(p.term.HistoryLen()), nil },
	"text":       queryText,
	"reply": func(p *player, _ string) (string, error) {
		p.collect()
		got := quoteList([]string{string(p.replies)})
		p.replies = nil
		return got, nil
	},
	"events": func(p *player, _ string) (string, error) {
		p.collect()
		got := quoteList(p.events)
		p.events = nil
		return got, nil
	},
	"mode": queryMode,
	"attr": queryAttr,
}

// queryRows is every row of the screen, read in three ways that must agree.
func queryRows(p *player, _ string) (string, error) {
	_, n := p.term.Size()
	var rows []string
	for y := range n {
		rows = append(rows, p.term.Line(y))
	}
	for len(rows) > 1 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	if text := p.term.ScreenText(); text != strings.Join(rows, "\n") {
		return "", fmt.Errorf("ScreenText %q, Line by line %q", text, rows)
	}
	var runs []string
	for _, line := range p.term.Screen().Lines {
		runs = append(runs, strings.TrimRight(lineText(line), " "))
	}
	if got := strings.TrimRight(strings.Join(runs, "\n"), "\n"); got != strings.TrimRight(strings.Join(rows, "\n"), "\n") {
		return "", fmt.Errorf("Screen %q, Line by line %q", runs, rows)
	}
	return quoteList(rows), nil
}

func lineText(line vt.Line) string {
	var b strings.Builder
	for _, r := range line.Runs {
		b.WriteString(r.Text)
	}
	return b.String()
}

func queryWrapped(p *player, arg string) (string, error) {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return "", err
	}
	lines := p.term.Screen().Lines
	return fmt.Sprint(n < len(lines) && lines[n].Wrapped), nil
}

// queryHistory is the lines above the screen as wrapped now.
func queryHistory(p *player, _ string) (string, error) {
	lines := strings.Split(p.term.Text(vt.TextOptions{}), "\n")
	n := p.term.HistoryLen()
	for len(lines) < n {
		lines = append(lines, "")
	}
	if p.term.Modes().AltScreen {
		return "", fmt.Errorf("?history on the alternate screen")
	}
	if n == 0 {
		return `""`, nil
	}
	return quoteList(lines[:n]), nil
}

func queryText(p *player, arg string) (string, error) {
	o := vt.TextOptions{}
	for _, w := range strings.Fields(arg) {
		switch w {
		case "join":
			o.Join = true
		case "screen":
			o.ScreenOnly = true
		default:
			n, err := strconv.Atoi(w)
			if err != nil {
				return "", err
			}
			o.Lines = n
		}
	}
	return quoteList(strings.Split(p.term.Text(o), "\n")), nil
}

// queryMode is a field of Modes, by name.
func queryMode(p *player, arg string) (string, error) {
	f := reflect.ValueOf(p.term.Modes()).FieldByName(arg)
	if !f.IsValid() {
		return "", fmt.Errorf("no mode %q", arg)
	}
	return fmt.Sprint(f.Interface()), nil
}

func queryAttr(p *player, arg string) (string, error) {
	var row, col int
	if _, err := fmt.Sscanf(arg, "%d,%d", &row, &col); err != nil {
		return "", err
	}
	cells := screenCells(p.term)
	if row >= len(cells) || col >= len(cells[row]) {
		return "", fmt.Errorf("no cell %s", arg)
	}
	return cells[row][col].attr, nil
}

// screenCell is what a reader sees in one column: text is in the first column
// of a character and "" in its second; a blank is " ".
type screenCell struct {
	text, attr string
}

// screenCells spreads the runs of Screen over columns.
func screenCells(t *vt.Terminal) [][]screenCell {
	cols, rows := t.Size()
	cells := make([][]screenCell, rows)
	lines := t.Screen().Lines
	for y := range cells {
		for len(cells[y]) < cols {
			cells[y] = append(cells[y], screenCell{text: " ", attr: "-"})
		}
		if y >= len(lines) {
			continue
		}
		x := 0
		for _, run := range lines[y].Runs {
			attr := styleString(run)
			for rest, state := run.Text, -1; rest != ""; {
				var cluster string
				var width int
				cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
				for i := range max(width, 1) {
					if x < cols {
						text := cluster
						if i > 0 {
							text = ""
						}
						cells[y][x] = screenCell{text: text, attr: attr}
					}
					x++
				}
			}
		}
	}
	return cells
}

// styleString spells a rendition as in ?attr.
func styleString(r vt.Run) string {
	var words []string
	s := r.Style
	for _, w := range []struct {
		on   bool
		name string
	}{
		{s.Bold, "bold"}, {s.Faint, "faint"}, {s.Italic, "italic"},
		{s.Underline == vt.UnderlineSingle, "underline"}, {s.Underline > vt.UnderlineSingle, "underline=" + s.Underline.String()},
		{s.Blink, "blink"}, {s.Inverse, "inverse"}, {s.Conceal, "conceal"}, {s.Strike, "strike"}, {s.Overline, "overline"},
		{s.FG != "", "fg=" + string(s.FG)}, {s.BG != "", "bg=" + string(s.BG)},
		{s.UnderlineColor != "", "ul=" + string(s.UnderlineColor)},
		{r.Link != "", "link=" + r.Link},
	} {
		if w.on {
			words = append(words, w.name)
		}
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, " ")
}

// eventString is an event as ?events spells it.
func eventString(e vt.Event) string {
	switch e.Kind {
	case vt.EventClipboard:
		return fmt.Sprintf("clipboard %s %s", e.Name, e.Data)
	case vt.EventProgress:
		return fmt.Sprintf("progress %d %d", e.State, e.Percent)
	case vt.EventPrompt:
		if e.Name == "D" {
			return fmt.Sprintf("prompt D %d", e.Exit)
		}
		return "prompt " + e.Name
	case vt.EventNotify:
		if e.Name != "" {
			return fmt.Sprintf("notify %s: %s", e.Name, e.Text)
		}
		return "notify " + e.Text
	}
	return strings.TrimSpace(e.Kind.String() + " " + e.Text)
}
