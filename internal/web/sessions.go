package web

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gascity.dev/gc/internal/filewatch"
)

// pages are the pages that are open. When the keys change, each looks whether it still has a
// session.
type pages struct {
	mu   sync.Mutex // guards open
	open map[*live]bool
}

func (p *pages) join(l *live) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[*live]bool{}
	}
	p.open[l] = true
}

func (p *pages) leave(l *live) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, l)
}

// recheck lets every page look.
func (p *pages) recheck() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.open {
		select {
		case l.recheck <- struct{}{}:
		default:
		}
	}
}

// unwatched is how often pages look where the keys cannot be watched.
const unwatched = 2 * time.Second

// watchKeys watches the keys: other processes revoke sessions, too. nil if that cannot be done.
func (s *Server) watchKeys() *filewatch.Watch {
	w, err := filewatch.New(s.Gate.Keys.Path())
	if err == nil {
		return w
	}
	if s.Log != nil {
		s.Log(fmt.Errorf("revoked sessions are looked for every %v: %w", unwatched, err))
	}
	return nil
}

// followKeys lets the pages look whenever the keys change, until ctx ends.
func (s *Server) followKeys(ctx context.Context, w *filewatch.Watch) {
	var changed <-chan struct{}
	var tick <-chan time.Time
	if w != nil {
		defer w.Close()
		changed = w.C
	} else {
		t := time.NewTicker(unwatched)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-changed:
		case <-tick:
		case <-ctx.Done():
			return
		}
		s.pages.recheck()
	}
}
