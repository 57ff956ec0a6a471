package outbox

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// asker counts how often it is served, and how it ends each time.
type asker struct {
	served int
	err    error
}

func (a *asker) Serve(context.Context, string, func(context.Context, []byte) []byte) error {
	a.served++
	return a.err
}

// A machine that is lost often is served again within seconds; one that is never reached is
// tried less and less often.
func TestAnswerTriesAgain(t *testing.T) {
	for _, c := range []struct {
		err         error
		least, most int
	}{{fmt.Errorf("%w: cut", ErrLost), 1200, 7200}, {errors.New("no route"), 80, 260}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			a := &asker{err: c.err}
			Answer(ctx, a, "town", nil)
			if a.served < c.least || a.served > c.most {
				t.Errorf("%v: served %d times in an hour, want %d to %d", c.err, a.served, c.least, c.most)
			}
		})
	}
}
