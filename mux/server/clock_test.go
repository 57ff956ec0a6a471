package server

import (
	"os"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/muxdb"
)

// startJumped starts a server on a machine whose clock was set by jump since
// the state was written. The monotonic clock must continue where it was.
func startJumped(t *testing.T, jump time.Duration) *client.Client {
	t.Helper()
	p := testPaths(t)
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := muxdb.Open(p.Db())
	if err != nil {
		t.Fatal(err)
	}
	a := clock.New().Anchor()
	a.At = a.At.Add(-jump)
	err = muxdb.SaveClock(db, a)
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return startServerAt(t, p)
}

// TestClockJumps: whatever happens to the system's clock, even across a restart
// of the server, expiry, waits and collection depend only on the time that
// really passed.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for name, jump := range map[string]time.Duration{
		"an hour forward": time.Hour, "an hour back": -time.Hour, "a year forward": year, "a year back": -year,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startJumped(t, jump)
			ctx := t.Context()
			pending := run(t, c, api.ExecRequest{Command: "sleep 0.2; echo x", Background: true, Owner: "owner"}).ID
			queued, err := c.Enqueue(ctx, api.QueueRequest{Target: "owner", Text: "from the queue", Policy: api.PolicyImmediate})
			if err != nil {
				t.Fatal(err)
			}
			limited := run(t, c, api.ExecRequest{Command: "sleep 300", Background: true, Timeout: api.Millis(1500 * time.Millisecond), Owner: "away"}).ID
			silent := run(t, c, api.ExecRequest{Command: "while :; do echo x; sleep 0.1; done", Background: true, IdleTimeout: api.Millis(2 * time.Second)}).ID
			killServer(t, c)
			var r api.ExecResult
			if err := retry(ctx, func() error { r, err = c.ProcessWait(ctx, limited, "", 20*time.Second); return err }); err != nil {
				t.Fatal(err)
			}
			if r.Status != process.TimedOut || r.Duration < api.Millis(1400*time.Millisecond) || r.Duration > api.Millis(15*time.Second) {
				t.Errorf("a time limit of 1.5 s: %+v", r)
			}
			if r, err := c.Process(ctx, silent); err != nil || r.Status.Ended() || r.Idle > api.Millis(10*time.Second) || r.Duration > api.Millis(60*time.Second) {
				t.Errorf("a command that prints all the time: %+v, %v", r, err)
			}
			if r := awaitCommand(t, c, pending, ""); r.Duration < api.Millis(150*time.Millisecond) || r.Duration > api.Millis(15*time.Second) {
				t.Errorf("0.2 s took %v", time.Duration(r.Duration))
			}
			s := startOwner(t, c, "no")
			awaitDeliveries(t, c, process.Delivered, pending)
			if it, err := c.AwaitQueued(ctx, queued.ID); err != nil || it.State != api.QueueDelivered {
				t.Errorf("the queue: %+v, %v", it, err)
			}
			if n := said(t, c, []string{s.ID}, pending); n != 1 {
				t.Errorf("said %d times", n)
			}
			if w, err := c.Wait(ctx, "owner", api.WaitRequest{Conditions: []api.Condition{{Quiet: 300 * time.Millisecond}}, Timeout: 20 * time.Second}); err != nil || w.Met != 0 {
				t.Errorf("quiet: %+v, %v", w, err)
			}
			info, err := c.Get(ctx, "owner")
			if err != nil || time.Since(info.LastOutput).Abs() > time.Minute {
				t.Errorf("the last output is shown as of %v: %v", info.LastOutput, err)
			}
			if list, err := c.ProcessList(ctx, "", true); err != nil || len(list) != 3 {
				t.Errorf("kept: %+v, %v", list, err)
			}
		})
	}
}
