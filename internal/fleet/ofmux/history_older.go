package ofmux

import (
	"context"
	"slices"
	"strings"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/vt"
)

// Of a history that is read: at least what any session keeps by default.
const (
	historyLines = 1_000_000
	historyBytes = 256 << 20
	chunkRows    = 1000 // rows that are made at a time
)

// olderHistory is History of a server that does not serve single lines: everything is read. Rows
// count from 1 with the oldest that is kept.
func (m *Mux) olderHistory(ctx context.Context, c *client.Client, id string, p fleet.Page) (fleet.History, error) {
	info, err := c.Get(ctx, id)
	if err != nil {
		return fleet.History{}, wrong(err)
	}
	peek, err := c.Peek(ctx, api.PeekRequest{Name: id, Format: api.FormatANSI})
	if err != nil {
		return fleet.History{}, wrong(err)
	}
	t, err := vt.New(vt.Options{Cols: info.Size.Cols, Rows: info.Size.Rows, HistoryLines: historyLines, HistoryBytes: historyBytes})
	if err != nil {
		return fleet.History{}, err
	}
	if _, err := t.Write([]byte(peek.Text)); err != nil {
		return fleet.History{}, err
	}
	h, err := historyOf(string(t.AppendRows(nil, true)), info.Size.Cols, p)
	h.Cols, h.Lost = info.Size.Cols, peek.HistoryLost
	return h, err
}

// chunk is a part of a history: unwrapped lines, each with its own renditions.
type chunk struct {
	lines []string
	first int // its first row, from 0
	rows  int
}

// historyOf returns a page of a history in unwrapped lines. It makes cells only of what the
// page needs.
func historyOf(text string, cols int, p fleet.Page) (fleet.History, error) {
	chunks, total, err := chunksOf(text, cols)
	if err != nil {
		return fleet.History{}, err
	}
	h := fleet.History{Total: uint64(total) + 1, Lines: []fleet.HistoryLine{}}
	end := total
	if p.Before > 0 && p.Before <= uint64(total) {
		end = int(p.Before) - 1
	}
	var found [][]fleet.HistoryLine // the newest first
	want := p.Lines
	if want <= 0 {
		want = fleet.PageLines
	}
	for _, c := range slices.Backward(chunks) {
		if c.first >= end || want == 0 {
			continue
		}
		rows, err := rowsOf(c.lines, cols)
		if err != nil {
			return fleet.History{}, err
		}
		page := fleet.PageOf(rows, fleet.Page{Before: uint64(min(end, c.first+len(rows))-c.first) + 1, Lines: want, Search: p.Search})
		for i := range page.Lines {
			page.Lines[i].N += uint64(c.first)
		}
		found, want = append(found, page.Lines), want-len(page.Lines)
		h.More = page.More || c.first > 0
	}
	for _, lines := range slices.Backward(found) {
		h.Lines = append(h.Lines, lines...)
	}
	return h, nil
}

// chunksOf cuts a history, and counts its rows.
func chunksOf(text string, cols int) (chunks []chunk, total int, err error) {
	var c chunk
	most, long := 0, false
	end := func() error {
		if len(c.lines) == 0 {
			return nil
		}
		c.first, c.rows = total, len(c.lines)
		if long {
			rows, err := rowsOf(c.lines, cols)
			if err != nil {
				return err
			}
			c.rows = len(rows)
		}
		total += c.rows
		chunks, c, most, long = append(chunks, c), chunk{}, 0, false
		return nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		n := mostRows(line, cols)
		if most+n > chunkRows {
			if err := end(); err != nil {
				return nil, 0, err
			}
		}
		c.lines, most, long = append(c.lines, line), most+n, long || len(line) > cols
	}
	return chunks, total, end()
}

// mostRows is how many rows a line takes at most: no character has more columns than bytes,
// and a wide one may leave the last column of a row empty.
func mostRows(line string, cols int) int { return 1 + len(line)/max(cols-1, 1) }

// rowsOf reads lines as an emulator does.
func rowsOf(lines []string, cols int) ([]vt.Line, error) {
	rows := 0
	for _, l := range lines {
		rows += mostRows(l, cols)
	}
	t, err := vt.New(vt.Options{Cols: max(cols, 2), Rows: rows + 1, HistoryLines: -1})
	if err != nil {
		return nil, err
	}
	if _, err := t.Write([]byte(strings.Join(lines, "\r\n") + "\r\n")); err != nil {
		return nil, err
	}
	return t.Screen().Lines[:t.Cursor().Row], nil
}
