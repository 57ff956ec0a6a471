package turn

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queues
		release, err := q.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 4 {
			go func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i == 1 { // gives up while it waits
					time.AfterFunc(time.Second, cancel)
				}
				release, err := q.Enter(ctx, "a")
				if i == 1 {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("caller 1: %v", err)
					}
					return
				}
				order = append(order, i) // only one has the turn
				release()
			}()
			synctest.Wait()
		}
		other, err := q.Enter(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		other()
		time.Sleep(2 * time.Second)
		release()
		synctest.Wait()
		if !slices.Equal(order, []int{0, 2, 3}) {
			t.Errorf("order %v", order)
		}
		if len(q.waiting) != 0 {
			t.Errorf("names left: %v", q.waiting)
		}
	})
}
