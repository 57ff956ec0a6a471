package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/exec"
)

// counting is a command whose output is larger than the ring: the numbers up to
// countTo, one per line.
const (
	countTo  = 1_400_000 // 10 MB
	counting = "seq 1400000"
	someMore = "seq 450000" // than a caller may lag
)

// countSum is the sum of counting's output.
func countSum() string {
	h := sha256.New()
	for i := range countTo {
		fmt.Fprintln(h, i+1)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// follower takes the stream of a command.
type follower struct {
	gate   chan struct{} // take waits until it is closed
	id     chan string
	done   chan error
	sum    hash.Hash
	bytes  uint64
	gaps   uint64
	last   api.ExecResult
	during func(api.ExecResult)
}

// startFollowing starts a foreground command and takes no output until the gate
// is closed.
func startFollowing(ctx context.Context, c *client.Client, r api.ExecRequest, during func(api.ExecResult)) *follower {
	f := &follower{gate: make(chan struct{}), id: make(chan string, 1), done: make(chan error, 1), sum: sha256.New(), during: during}
	r.Env = testEnv
	go func() {
		f.done <- c.ExecFollow(ctx, r, func(res api.ExecResult) error {
			if f.last.ID == "" {
				f.id <- res.ID
			}
			f.last = res
			select {
			case <-f.gate:
			case <-ctx.Done():
				return ctx.Err()
			}
			f.sum.Write(res.Data)
			f.bytes, f.gaps = f.bytes+uint64(len(res.Data)), f.gaps+res.Missing
			if f.during != nil {
				f.during(res)
			}
			return nil
		})
	}()
	return f
}

// awaitHeld waits until the output of a command pauses at its window, and
// returns its length.
func awaitHeld(t *testing.T, c *client.Client, id string) uint64 {
	t.Helper()
	for same, last := 0, uint64(0); ; {
		s, err := c.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if s.Output >= exec.FlowWindow && s.Output == last {
			same++
		} else {
			same, last = 0, s.Output
		}
		if same == 20 {
			return last
		}
		if err := clock.Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// await waits for the end; every byte must have arrived once.
func (f *follower) await(t *testing.T, sum string) {
	t.Helper()
	if err := <-f.done; err != nil {
		t.Fatal(err)
	}
	if f.gaps != 0 || f.last.Status != process.Completed || fmt.Sprintf("%x", f.sum.Sum(nil)) != sum {
		t.Errorf("%d bytes, %d missing, not as they were written; %+v", f.bytes, f.gaps, f.last)
	}
}

// TestExecFollowSlow: a command waits for a caller that lags, as on a pipe,
// and the caller gets every byte; on a terminal too.
func TestExecFollowSlow(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	sum := countSum()
	for _, pty := range []bool{false, true} {
		r := api.ExecRequest{Command: counting, PTY: pty}
		if pty {
			r.Command = "stty -opost; " + counting
		}
		f := startFollowing(t.Context(), c, r, nil)
		id := <-f.id
		if n := awaitHeld(t, c, id); n > process.RingTail {
			t.Errorf("pty=%t: the command wrote %d bytes that no caller took", pty, n)
		}
		close(f.gate)
		f.await(t, sum)
	}
}

// TestExecFollowCrash: the server is killed repeatedly while a caller follows,
// and every byte arrives once.
func TestExecFollowCrash(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	next := uint64(1 << 20)
	f := startFollowing(t.Context(), c, api.ExecRequest{Command: counting}, func(res api.ExecResult) {
		if res.Cursor > next && !res.Status.Ended() {
			next += 2 << 20
			killServer(t, c)
		}
	})
	awaitHeld(t, c, <-f.id)
	close(f.gate)
	f.await(t, countSum())
}

// TestExecFollowLeft: a command whose caller vanishes without taking its
// output, or releases it, does not wait forever.
func TestExecFollowLeft(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := startFollowing(ctx, c, api.ExecRequest{Command: someMore}, nil)
	id := <-f.id
	awaitHeld(t, c, id)
	cancel()
	if err := <-f.done; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller's own end: %v", err)
	}
	if r := awaitCommand(t, c, id, ""); r.Status != process.Completed {
		t.Errorf("without its caller: %+v", r)
	}

	f = startFollowing(t.Context(), c, api.ExecRequest{Command: someMore, IdleTimeout: api.Millis(time.Second)}, nil)
	id = <-f.id
	awaitHeld(t, c, id)
	for { // it does not count as silent, but as held back
		if s, err := c.Get(t.Context(), id); err != nil || time.Since(s.LastOutput) > 1500*time.Millisecond {
			break
		}
		if err := clock.Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ProcessBackground(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if r := awaitCommand(t, c, id, ""); r.Status != process.Completed {
		t.Errorf("in the background: %+v", r)
	}
	close(f.gate)
	if err := <-f.done; err != nil || f.last.Status != process.Completed {
		t.Errorf("the caller that still follows: %v, %+v", err, f.last)
	}

	f = startFollowing(t.Context(), c, api.ExecRequest{Command: someMore}, nil)
	id = <-f.id
	awaitHeld(t, c, id)
	if r, err := c.ProcessKill(t.Context(), id, "", time.Minute); err != nil || r.Status != process.Killed {
		t.Errorf("kill: %+v, %v", r, err)
	}
	close(f.gate)
	if err := <-f.done; err != nil || f.gaps != 0 || f.last.Status != process.Killed {
		t.Errorf("after the kill: %v, %d missing, %+v", err, f.gaps, f.last)
	}
}

// TestExecFollowCursor: a stream begins at the cursor, which may not be past
// the end.
func TestExecFollowCursor(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	id := run(t, c, api.ExecRequest{Command: "printf 0123456789; exit 4"}).ID
	for cursor, want := range map[uint64]string{0: "0123456789", 7: "789", 10: ""} {
		resp, err := c.Do(t.Context(), "POST", "/v1/processes/"+id+"/follow", map[string]any{"cursor": cursor})
		if err != nil {
			t.Fatal(err)
		}
		var res api.ExecResult
		err = json.NewDecoder(resp.Body).Decode(&res)
		resp.Body.Close()
		if err != nil || string(res.Data) != want || code(res) != 4 {
			t.Errorf("from %d: %+v, %v", cursor, res, err)
		}
	}
	if _, err := c.Do(t.Context(), "POST", "/v1/processes/"+id+"/follow", map[string]any{"cursor": 11}); !errors.Is(err, api.ErrRequest) {
		t.Errorf("a cursor behind the end: %v", err)
	}
	if _, err := c.Do(t.Context(), "POST", "/v1/processes/nobody/follow", nil); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("an unknown command: %v", err)
	}
	err := c.ExecFollow(t.Context(), api.ExecRequest{Command: "true", WorkDir: "/no/such/place"}, func(api.ExecResult) error { return nil })
	if !errors.Is(err, api.ErrWorkDir) {
		t.Errorf("a missing work dir: %v", err)
	}
}
