package tmuxshim

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"gascity.dev/gc/internal/tmuxshim/world"
	"gascity.dev/gc/mux/api"
)

// capturePane writes rows of the screen and the history: numbers from the first row of the
// screen, negative ones in the history.
func capturePane(ctx context.Context, c *call) error {
	_, p, err := c.look(ctx, world.KindPane)
	if err != nil {
		return err
	}
	text, err := c.captured(ctx, p)
	if err != nil {
		return err
	}
	if c.has('p') {
		fmt.Fprint(c.Out, text)
		return nil
	}
	return c.change(ctx, func(w *world.World) error {
		w.SetBuffer(c.value('b'), []byte(text))
		return nil
	})
}

func (c *call) captured(ctx context.Context, p world.Place) (string, error) {
	if c.has('a') && !c.has('q') {
		return "", fmt.Errorf("no alternate screen")
	}
	if c.has('a') || c.has('P') {
		return "", nil
	}
	rows := c.live[p.Pane.Mux].Size.Rows
	from, to := bound(c.value('S'), 0, rows), bound(c.value('E'), rows-1, rows)
	history, screen, err := c.rows(ctx, p.Pane.Mux, rows, from < 0)
	if err != nil {
		return "", err
	}
	from, to = max(from, -len(history)), min(to, len(screen)-1)
	if from > to {
		from, to = to, from
	}
	all := append(history, screen...)
	var b strings.Builder
	for y := from; y <= to; y++ {
		b.WriteString(all[len(history)+y])
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// bound reads -S or -E; "-" is the beginning of the history for the one, the end of the
// screen for the other.
func bound(text string, otherwise, rows int) int {
	if text == "-" {
		if otherwise == 0 {
			return -1 << 30
		}
		return rows - 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	return n
}

// rows reads a session's rows.
func (c *call) rows(ctx context.Context, name string, rows int, withHistory bool) (history, screen []string, err error) {
	r := api.PeekRequest{Name: name, Screen: true, Join: c.has('J')}
	if c.has('e') {
		r.Format = api.FormatANSI
	}
	shown, err := c.mux.Peek(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	screen = lines(shown.Text)
	if withHistory {
		r.Screen = false
		whole, err := c.mux.Peek(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		all := lines(whole.Text)
		history = all[:max(len(all)-len(screen), 0)]
	}
	if c.has('J') { // the rows that a line took are one
		r.Screen, r.Join = true, false
		apart, err := c.mux.Peek(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		rows -= len(lines(apart.Text)) - len(screen)
	}
	for len(screen) < rows {
		screen = append(screen, "")
	}
	return history, screen[:rows], nil
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
