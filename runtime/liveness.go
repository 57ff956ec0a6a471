package runtime

import (
	"context"
	"fmt"
)

// Liveness answers the two-layer question: does the session exist, and does
// its agent process live in it.
type Liveness string

// Liveness values. There is no value for "cannot tell": that is the error.
const (
	Gone   Liveness = "gone"   // no session
	Alive  Liveness = "alive"  // session and process
	Zombie Liveness = "zombie" // a session without its process
)

// Running reports whether the session exists.
func (l Liveness) Running() bool { return l == Alive || l == Zombie }

// ObserveLiveness asks p about a session and the processes that prove it
// alive; empty names leave the first layer alone. An error means that it
// cannot be told, and nobody may act on it.
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
	// The session may have ended between the two questions.
	running, err = p.IsRunning(ctx, name)
	if err != nil {
		return "", fmt.Errorf("liveness of %s: %w", name, err)
	}
	if !running {
		return Gone, nil
	}
	return Zombie, nil
}
