package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/mux/api"
)

// TestManyWaitsNeedOneProbe: requests that wait do not each ask whether the server lives,
// and all of them notice when it hangs.
func TestManyWaitsNeedOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int32
		var hangs atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		c := NewShared(func(context.Context) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				req, err := http.ReadRequest(bufio.NewReader(far))
				if err != nil {
					return
				}
				if req.URL.Path == "/v1/status" && !hangs.Load() {
					probes.Add(1)
					_, _ = io.WriteString(far, replyOf(200, "{}"))
					return
				}
				_, _ = io.Copy(io.Discard, far)
				<-ctx.Done()
			}()
			return near, nil
		})
		defer c.Close()
		defer cancel()
		const waits = 50
		ended := make(chan error, waits)
		for range waits {
			go func() {
				_, err := c.Wait(t.Context(), "s", api.WaitRequest{Conditions: []api.Condition{{Exit: true}}})
				ended <- err
			}()
			time.Sleep(20 * time.Millisecond) // of the bubble's clock
		}
		time.Sleep(10 * time.Minute)
		if n := probes.Load(); n < 5 || n > 30 {
			t.Errorf("%d probes of %d waits in ten minutes", n, waits)
		}
		hangs.Store(true)
		for range waits {
			select {
			case err := <-ended:
				if !errors.Is(err, api.ErrFrozen) {
					t.Fatal(err)
				}
			case <-time.After(3*time.Minute + alive.Limit):
				t.Fatal("a wait did not notice that the server hangs")
			}
		}
	})
}
