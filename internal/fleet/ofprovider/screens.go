package ofprovider

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/ofmux"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/vt"
)

// Of the screens that are read as text.
const (
	textRows  = 40 // shown
	leastCols = 80
	mostCols  = 500
	textPause = 500 * time.Millisecond // between two reads, while somebody looks
)

// source has the screens of the sessions.
type source struct{ s *Sessions }

// Next implements [screens.Source]. Without a multiplexer nobody tells when a screen
// changes: it is read again after a pause.
func (o source) Next(ctx context.Context, id string, after screens.Mark, rate float64) (*screens.Screen, error) {
	m, err := o.s.mux(ctx, id)
	if err != nil {
		return nil, err
	}
	if m != nil {
		return m.Source().Next(ctx, id, after, rate)
	}
	for first := after == (screens.Mark{}); ; first = false {
		if !first {
			if err := clock.Sleep(ctx, textPause); err != nil {
				return nil, err
			}
		}
		s, err := o.read(ctx, id)
		if err != nil || s.Mark() != after {
			return s, err
		}
	}
}

// read returns a screen of text.
func (o source) read(ctx context.Context, id string) (*screens.Screen, error) {
	text, err := o.s.provider.Peek(ctx, id, textRows)
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return &screens.Screen{State: screens.Gone}, nil
	}
	if err != nil {
		return nil, err
	}
	lines, cols, err := textLines(text, textRows)
	if err != nil {
		return nil, err
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return &screens.Screen{
		State: screens.Running, Revision: h.Sum64()&(1<<53-1) | 1, Cols: cols, Rows: len(lines), Plain: true, Lines: lines,
	}, nil
}

// textLines returns text as rows of a terminal that is wide enough, at least least.
func textLines(text string, least int) (lines []vt.Line, cols int, err error) {
	cols = leastCols
	rows := strings.Split(text, "\n")
	for _, row := range rows {
		cols = min(max(cols, 2*utf8.RuneCountInString(row)), mostCols)
	}
	t, err := vt.New(vt.Options{Cols: cols, Rows: max(len(rows), least, 1)})
	if err != nil {
		return nil, 0, err
	}
	_, _ = t.Write([]byte("\x1b[?7l")) // never fails; no wrap: a row stays one
	for i, row := range rows {
		if i > 0 {
			row = "\r\n" + row
		}
		_, _ = t.Write([]byte(harmless(row)))
	}
	return t.Screen().Lines, cols, nil
}

// harmless drops control characters that are not part of a row.
func harmless(row string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\r' && r != '\n' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, row)
}

// maxHistory is how many rows of text are read at most.
const maxHistory = 2000

// History implements [fleet.Fleet].
func (s *Sessions) History(ctx context.Context, id string, p fleet.Page) (fleet.History, error) {
	m, err := s.mux(ctx, id)
	if err != nil {
		return fleet.History{}, err
	}
	if m != nil {
		return m.History(ctx, id, p)
	}
	text, err := s.provider.Peek(ctx, id, maxHistory)
	if err != nil {
		return fleet.History{}, wrong(err)
	}
	lines, cols, err := textLines(text, 1)
	if err != nil {
		return fleet.History{}, err
	}
	h := fleet.PageOf(lines, p)
	h.Cols = cols
	return h, nil
}

// AwaitLines returns after a change of the last lines that Shown last returned; see
// [ofmux.Mux.AwaitLines].
func (s *Sessions) AwaitLines(ctx context.Context) error {
	s.mu.Lock()
	var muxes []*ofmux.Mux
	for _, m := range s.muxes {
		muxes = append(muxes, m)
	}
	s.mu.Unlock()
	if len(muxes) == 0 {
		return fleet.ErrUnsupported
	}
	ctx, cancel := context.WithCancel(ctx)
	first := make(chan error, len(muxes))
	var waits sync.WaitGroup
	defer waits.Wait()
	defer cancel()
	for _, m := range muxes {
		waits.Go(func() { first <- m.AwaitLines(ctx) })
	}
	var err error
	for range muxes { // one that does not answer says nothing of the others
		if err = <-first; err == nil {
			return nil
		}
	}
	return err
}
