package outbox

import (
	"context"
	"errors"
	"math/rand/v2"

	"gascity.dev/gc/internal/clock"
)

// Asker is an [Outbox] of a machine whose programs can ask the city, too. What they ask is
// not trusted, and is lost with the connection.
type Asker interface {
	// Serve answers the requests of programs there to a city, a few at a time, until ctx
	// ends or the machine is lost: then the error is ErrLost.
	Serve(ctx context.Context, city string, answer func(ctx context.Context, request []byte) []byte) error
}

// Answer serves an Asker until ctx ends. Its errors are those of the outbox, whose Reader
// reports them.
func Answer(ctx context.Context, a Asker, city string, answer func(ctx context.Context, request []byte) []byte) {
	pause := firstPause
	for ctx.Err() == nil {
		err := a.Serve(ctx, city, answer)
		if errors.Is(err, ErrLost) {
			pause = firstPause
		}
		_ = clock.Sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, maxPause)
	}
}
