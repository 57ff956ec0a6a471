package ofmux

import (
	"context"
	"errors"
	"slices"
	"strings"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// History implements [fleet.Fleet]. Only the lines of the page are read, and searching is the
// server's.
func (m *Mux) History(ctx context.Context, id string, p fleet.Page) (fleet.History, error) {
	c, err := m.client(ctx)
	if err != nil {
		return fleet.History{}, err
	}
	now, err := c.History(ctx, id, api.HistoryRequest{Screen: true})
	if errors.Is(err, api.ErrRequest) || errors.Is(err, api.ErrVersion) {
		return m.olderHistory(ctx, c, id, p)
	}
	if err != nil {
		return fleet.History{}, wrong(err)
	}
	h, err := pageOf(&now, p, func(r api.HistoryRequest) (api.HistoryResult, error) { return c.History(ctx, id, r) })
	return h, wrong(err)
}

// pager makes one page of a history, from its end to its beginning.
type pager struct {
	read   func(api.HistoryRequest) (api.HistoryResult, error)
	cols   int
	first  uint64 // the oldest line
	before uint64 // the row that follows the page; 0: none
	search string
	want   int                 // rows that are still missing
	found  []fleet.HistoryLine // the newest first
	more   bool                // there are earlier rows
}

// pageOf returns a page of a history. now is its end, with the screen.
func pageOf(now *api.HistoryResult, p fleet.Page, read func(api.HistoryRequest) (api.HistoryResult, error)) (fleet.History, error) {
	pg := &pager{read: read, cols: now.Screen.Cols, first: now.First, before: p.Before, search: p.Search, want: p.Lines}
	if pg.want <= 0 {
		pg.want = fleet.PageLines
	}
	shown := screenRows(now)
	h := fleet.History{Cols: pg.cols, Total: rowNumber(now.Closed, 0), Lost: int(now.First)}
	if len(shown) > 0 {
		h.Total = shown[len(shown)-1].N + 1
	}
	pg.take(shown)
	end := now.Closed
	if p.Before > 0 {
		end = min(end, lineOfRow(p.Before)+1) // the line of that row may begin before it
	}
	err := pg.lines(end)
	h.Lines, h.More = append([]fleet.HistoryLine{}, pg.found...), pg.more
	slices.Reverse(h.Lines)
	return h, err
}

// take adds the rows that belong to the page.
func (pg *pager) take(rows []fleet.HistoryLine) {
	for _, r := range slices.Backward(rows) {
		if pg.before > 0 && r.N >= pg.before {
			continue
		}
		if pg.want == 0 {
			pg.more = true
			return
		}
		if pg.search == "" || fleet.Contains(r.Line, pg.search) {
			pg.found, pg.want = append(pg.found, r), pg.want-1
		}
	}
}

// lines adds rows of the lines before one.
func (pg *pager) lines(end uint64) error {
	for end > pg.first {
		if pg.want == 0 {
			pg.more = true
			return nil
		}
		if pg.search != "" {
			r, err := pg.read(api.HistoryRequest{From: end - 1, Find: strings.ToLower(pg.search), Fold: true, Back: true})
			if err != nil || r.Found == nil || *r.Found >= end {
				return err
			}
			end = *r.Found + 1
		}
		from := pg.first
		if most := uint64(min(pg.want, api.MaxHistoryLines)); end-from > most {
			from = end - most
		}
		r, err := pg.read(api.HistoryRequest{From: from, Count: int(end - from)})
		if err != nil {
			return err
		}
		pg.first = max(pg.first, r.First)
		pg.take(numbered(upTo(r.Lines, r.From, end), r.From, pg.cols))
		end = from
	}
	return nil
}

// upTo returns the lines before one; the first of them has a number.
func upTo(lines []vt.Line, first, end uint64) []vt.Line {
	if first >= end {
		return nil
	}
	return lines[:min(uint64(len(lines)), end-first)]
}
