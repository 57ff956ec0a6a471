package ofmux

import (
	"strings"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// rowBits are the bits of a row's number that count in its line. The others are the number of the
// line, from 1, which it keeps for the life of the session. Both fit into the 53 bits of a number
// in JavaScript.
const rowBits = 20

// rowNumber is the number of row k, from 0, of a line.
func rowNumber(line uint64, k int) uint64 { return (line+1)<<rowBits | uint64(min(k, 1<<rowBits-1)) }

// lineOfRow is the line of a row.
func lineOfRow(n uint64) uint64 { return n>>rowBits - 1 }

// numbered returns the rows of lines that follow each other, the first of which has a number.
func numbered(lines []vt.Line, first uint64, cols int) (out []fleet.HistoryLine) {
	for i := range lines {
		for k, r := range rowsOfLine(lines[i], cols) {
			out = append(out, fleet.HistoryLine{N: rowNumber(first+uint64(i), k), Line: r})
		}
	}
	return out
}

// screenRows returns the rows of the screen down to its last text, preceded by what is above it of
// the line that its first row continues.
func screenRows(h *api.HistoryResult) (out []fleet.HistoryLine) {
	n, k := h.Closed, 0
	if h.Open != nil {
		open := *h.Open
		open.Wrapped = true
		out = numbered([]vt.Line{open}, n, h.Screen.Cols)
		k = len(out)
	}
	rows := h.Screen.Lines
	for len(rows) > 0 && len(rows[len(rows)-1].Runs) == 0 {
		rows = rows[:len(rows)-1]
	}
	for _, r := range rows {
		out = append(out, fleet.HistoryLine{N: rowNumber(n, k), Line: r})
		if k++; !r.Wrapped {
			n, k = n+1, 0
		}
	}
	return out
}

// rowsOfLine returns the rows of a line on a terminal of so many columns.
func rowsOfLine(l vt.Line, cols int) []vt.Line {
	rows, left := []vt.Line{{Prompt: l.Prompt}}, cols
	for _, r := range l.Runs {
		for {
			head, tail, used := splitRun(r, left)
			if used == 0 && left == cols && tail.Text != "" { // a character wider than the terminal
				head, tail, used = splitRun(r, cols+1)
			}
			row := &rows[len(rows)-1]
			if head.Text != "" {
				row.Runs = append(row.Runs, head)
			}
			if left -= used; tail.Text == "" {
				break
			}
			row.Wrapped = true
			rows, r, left = append(rows, vt.Line{}), tail, cols
		}
	}
	rows[len(rows)-1].Wrapped = l.Wrapped
	return rows
}

// splitRun splits a run after the characters that fit into so many columns.
func splitRun(r vt.Run, cols int) (head, tail vt.Run, used int) {
	points := 0
	for at := range r.Text {
		width := 1
		if points < len(r.Columns) {
			width = int(r.Columns[points] - '0')
		}
		if used+width > cols {
			head, tail = r, r
			head.Text, tail.Text = r.Text[:at], r.Text[at:]
			if r.Columns != "" {
				head.Columns, tail.Columns = told(r.Columns[:points]), told(r.Columns[points:])
			}
			return head, tail, used
		}
		used += width
		points++
	}
	return r, vt.Run{}, used
}

// told are the digits of Run.Columns; none if each is 1.
func told(digits string) string {
	if strings.Trim(digits, "1") == "" {
		return ""
	}
	return digits
}
