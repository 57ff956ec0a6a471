package ofmux

import (
	"context"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// lines are the last lines that sessions showed when they were last read.
type lines struct {
	mu      sync.Mutex // guards all below
	shown   map[string]lastLine
	changed chan struct{} // closed when shown has other sessions; nil if nobody waits
}

// lastLine is the last line of a screen with a revision.
type lastLine struct {
	revision uint64
	text     string
}

// Shown returns what each of the sessions shows; nothing of one that is not there. Screens
// that have not changed since the last call are not sent again.
func (m *Mux) Shown(ctx context.Context, sessions []string) (map[string]fleet.Shown, error) {
	c, err := m.client(ctx)
	if err != nil {
		return nil, err
	}
	last, err := m.lastLines(ctx, c, sessions)
	if err != nil || len(last) == 0 {
		return nil, err
	}
	list, err := c.List(ctx, "", false)
	if err != nil {
		return nil, err
	}
	shown := make(map[string]fleet.Shown, len(last))
	for i := range list {
		s := &list[i]
		if line, ok := last[s.Name]; ok {
			shown[s.Name] = fleet.Shown{Incarnation: s.ID, Title: s.Title, LastLine: line, Attached: s.Attached, Recording: s.Recording}
		}
	}
	return shown, nil
}

func (m *Mux) lastLines(ctx context.Context, c *client.Client, sessions []string) (map[string]string, error) {
	if len(sessions) == 0 {
		m.lines.keep(nil)
		return nil, nil
	}
	before := m.lines.now()
	requests := make([]api.PeekRequest, len(sessions))
	for i, s := range sessions {
		requests[i] = api.PeekRequest{Name: s, Lines: 1, IfRevision: before[s].revision}
	}
	results, err := c.PeekMany(ctx, requests)
	if err != nil {
		return nil, err
	}
	now, last := make(map[string]lastLine, len(results)), make(map[string]string, len(results))
	for i := range results {
		if l, ok := lineOf(&results[i], before[sessions[i]]); ok {
			now[sessions[i]], last[sessions[i]] = l, l.text
		}
	}
	m.lines.keep(now)
	return last, nil
}

// lineOf returns the last line of a peek after an earlier one; false without a session.
func lineOf(r *api.PeekResult, before lastLine) (lastLine, bool) {
	switch {
	case r.Error != nil:
		return lastLine{}, false
	case r.Unchanged:
		return before, true
	}
	text := strings.TrimSpace(r.Text)
	return lastLine{revision: r.Revision, text: text[strings.LastIndexByte(text, '\n')+1:]}, true
}

// now returns the last lines; the caller does not change them.
func (l *lines) now() map[string]lastLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown
}

// keep replaces the last lines.
func (l *lines) keep(now map[string]lastLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	other := len(now) != len(l.shown)
	for s := range now {
		if _, ok := l.shown[s]; !ok {
			other = true
		}
	}
	l.shown = now
	if other && l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// watched returns the last lines, and a channel that closes when they are of other sessions.
func (l *lines) watched() (map[string]lastLine, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.shown, l.changed
}

// Of waits for other last lines: one request for all of them, which the server holds.
const (
	linesPause = time.Second // between two requests, while something prints
	linesWait  = 10 * time.Minute
)

// AwaitLines returns after a change of the last lines that Shown last returned, once a second
// at most.
func (m *Mux) AwaitLines(ctx context.Context) error {
	for {
		c, err := m.client(ctx)
		if err != nil {
			return err
		}
		shown, other := m.lines.watched()
		news, err := m.lines.await(ctx, c, shown, other)
		if err != nil {
			return err
		}
		if err := clock.Sleep(ctx, linesPause); err != nil || news {
			return err
		}
	}
}

// await waits until a session shows something else, or other closes, and reports whether a
// last line is another one. If none is, it keeps the revisions that were seen.
func (l *lines) await(ctx context.Context, c *client.Client, shown map[string]lastLine, other <-chan struct{}) (news bool, err error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var replaced sync.WaitGroup
	defer replaced.Wait()
	defer cancel()
	replaced.Go(func() {
		select {
		case <-other:
			cancel()
		case <-inner.Done():
		}
	})
	if len(shown) == 0 {
		<-inner.Done()
		return false, ctx.Err()
	}
	requests := make([]api.PeekRequest, 0, len(shown))
	for s, l := range shown {
		requests = append(requests, api.PeekRequest{Name: s, Lines: 1, IfRevision: l.revision})
	}
	results, err := c.AwaitNews(inner, requests, linesWait)
	if inner.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return false, err
	}
	seen := make(map[string]lastLine, len(results))
	for i := range results {
		name := requests[i].Name
		now, ok := lineOf(&results[i], shown[name])
		if ok {
			seen[name] = now
		}
		news = news || ok && now.text != shown[name].text
	}
	if !news {
		l.keep(seen)
	}
	return news, nil
}
