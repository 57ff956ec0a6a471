package runtime

import (
	"context"
	"fmt"
)

// Liveness says whether a session exists and whether its agent process lives in it.
type Liveness string

// Liveness values. There is none for "unknown": that is an error.
const (
	Gone   Liveness = "gone"   // no session
	Alive  Liveness = "alive"  // session and process
	Zombie Liveness = "zombie" // a session without its process
)

// Running reports whether the session exists.
func (l Liveness) Running() bool { return l == Alive || l == Zombie }

// ObserveLiveness asks p for a session and for one of the processes that prove it
// alive; without names only for the session. An error means unknown: callers must
// not act on it.
func ObserveLiveness(ctx context.Context, p Provider, name string, processNames []string) (Liveness, error) {
	running, err := p.IsRunning(ctx, name)
	if err != nil {
		return "", fmt.Errorf("liveness of %s: %w", name, err)
	}
	if !running {
		return Gone, nil
	}
	if len(processNames) == 0 {
		return Alive, nil
	}
	alive, err := p.ProcessAlive(ctx, name, processNames)
	if err != nil {
		return "", fmt.Errorf("liveness of %s: %w", name, err)
	}
	if alive {
		return Alive, nil
	}
	// The session may have ended between the two queries.
	running, err = p.IsRunning(ctx, name)
	if err != nil {
		return "", fmt.Errorf("liveness of %s: %w", name, err)
	}
	if !running {
		return Gone, nil
	}
	return Zombie, nil
}
