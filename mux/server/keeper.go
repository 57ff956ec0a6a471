package server

import (
	"errors"
	"time"

	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/mux/keeper"
)

// keeperLink is the connection to the keeper, which may die and be replaced.
type keeperLink struct {
	srv    *server
	lockFD int // the lock file, open as long as this process lives

	// guarded by server.mu
	link     *keeper.Link
	replaced chan struct{} // closed when link is another one
	handing  bool          // a new keeper does not hold everything yet
}

func (k *keeperLink) current() *keeper.Link {
	k.srv.mu.Lock()
	defer k.srv.mu.Unlock()
	return k.link
}

// spawn makes the keeper start a program; the next keeper if this one has just died.
func (k *keeperLink) spawn(spec *keeper.Spec, fd int) (*keeper.Link, keeper.Spawned, error) {
	srv := k.srv
	late := time.NewTimer(alive.Limit)
	defer late.Stop()
	for {
		srv.mu.Lock()
		link, next := k.link, k.replaced
		srv.mu.Unlock()
		p, err := link.Spawn(spec, fd)
		if !errors.Is(err, keeper.ErrNotSent) {
			return link, p, err
		}
		select {
		case <-next:
		case <-late.C:
			return link, p, err
		case <-srv.lifetime.done:
			return link, p, err
		}
	}
}
