package subprocess

import (
	"errors"
	"syscall"

	"gascity.dev/gc/internal/proctree"
)

// KillParent kills the parent of a session and waits for its end.
func KillParent(p *Provider, name string) error {
	s, err := p.read(name)
	if err != nil {
		return err
	}
	if err := syscall.Kill(s.Parent.PID, syscall.SIGKILL); err != nil {
		return err
	}
	for {
		if alive, err := s.Parent.alive(); !alive || err != nil && !errors.Is(err, proctree.ErrNotFound) {
			return err
		}
	}
}
