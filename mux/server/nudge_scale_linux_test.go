package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"golang.org/x/sys/unix"
)

// scale is the size of one run.
type scale struct{ writers, inFlight, sessions, nudges, kills int }

// scaleOf returns a short run, or the long one with GC_SOAK=1.
func scaleOf(short, long scale) scale {
	if os.Getenv("GC_SOAK") == "1" {
		return long
	}
	return short
}

// sent is one nudge and its outcome.
type sent struct {
	session, text  string
	stream, number int // numbers of one stream and session go up
	rec            api.Receipt
}

// TestScaleNudges: with many writers and composers that take an early Enter for a
// newline, with and without mode 2004, every message arrives once, whole, in order, and
// submitted.
func TestScaleNudges(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	startServerAt(t, p)
	z := scaleOf(
		scale{writers: 8, inFlight: 2, sessions: 10, nudges: 240},
		scale{writers: 8, inFlight: 6, sessions: 50, nudges: 10_000})
	outs := startReceivers(t, p, z.sessions)
	began := time.Now()
	all := sendMany(t, p, z)
	t.Logf("%d nudges in %v", len(all), time.Since(began).Round(time.Millisecond))
	for _, n := range all {
		if n.rec.State != api.Submitted {
			t.Errorf("%s %d/%d: %+v", n.session, n.stream, n.number, n.rec)
		}
	}
	checkArrived(t, all, outs)
}

// TestScaleNudgesAcrossKills: while the server is killed again and again, a nudge is
// finished or reported, never repeated, and each one reported as submitted arrived.
func TestScaleNudgesAcrossKills(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	startServerAt(t, p)
	z := scaleOf(
		scale{writers: 4, inFlight: 2, sessions: 6, nudges: 96, kills: 6},
		scale{writers: 8, inFlight: 4, sessions: 24, nudges: 1600, kills: 40})
	outs := startReceivers(t, p, z.sessions)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { killEverySoOften(ctx, t, p, z.kills) })
	all := sendMany(t, p, z)
	stop()
	wg.Wait()
	states := map[string]int{}
	for _, n := range all {
		states[n.rec.State]++
	}
	t.Logf("receipts %v", states)
	checkArrived(t, all, outs)
}

// startReceivers starts composers and returns the files with what they submitted.
func startReceivers(t *testing.T, p api.Paths, n int) map[string]string {
	t.Helper()
	c := dial(t, p)
	outs := make(map[string]string)
	for i := range n {
		name, mode := fmt.Sprintf("s%02d", i), "paste"
		if i%2 == 1 {
			mode = "plain"
		}
		outs[name] = startReceiver(t, c, name, mode)
	}
	return outs
}

func dial(t *testing.T, p api.Paths) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// sendMany sends z.nudges from z.writers clients, z.inFlight of each at a time.
func sendMany(t *testing.T, p api.Paths, z scale) []sent {
	var mu sync.Mutex
	var all []sent
	var wg sync.WaitGroup
	streams := z.writers * z.inFlight
	for w := range z.writers {
		c := dial(t, p)
		for k := range z.inFlight {
			stream := w*z.inFlight + k
			wg.Go(func() {
				for i := range (z.nudges + streams - 1 - stream) / streams {
					n := sent{session: fmt.Sprintf("s%02d", (stream+i)%z.sessions), stream: stream, number: i}
					n.text = messageOf(stream, i)
					var err error
					n.rec, err = c.Nudge(t.Context(), n.session, api.NudgeRequest{Text: n.text, Timeout: time.Minute})
					if err != nil {
						t.Errorf("stream %d, %d: %v", stream, i, err)
						return
					}
					mu.Lock()
					all = append(all, n)
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	return all
}

// messageOf is a message of up to 2 KB that names its origin.
func messageOf(stream, number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "stream %d number %d:", stream, number)
	for i := range (stream*7 + number*13) % 60 {
		fmt.Fprintf(&b, " wörd%d of a message", i)
		if i%9 == 8 {
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, " end of %d/%d", stream, number)
	return b.String()
}

// checkArrived compares the submitted messages with those sent.
func checkArrived(t *testing.T, all []sent, outs map[string]string) {
	t.Helper()
	type place struct {
		session string
		stream  int
	}
	byText := make(map[string]sent)
	for _, n := range all {
		byText[n.session+"\x00"+n.text] = n
	}
	arrived := make(map[string]int)
	last := make(map[place]int)
	for name, out := range outs {
		for _, text := range submitted(t, out) {
			key := name + "\x00" + text
			n, ok := byText[key]
			if !ok {
				t.Errorf("%s got a message that was not sent: %.200q", name, text)
				continue
			}
			if arrived[key]++; arrived[key] > 1 {
				t.Errorf("%s got it %d times: %.60q, %+v", name, arrived[key], text, n.rec)
			}
			at := place{name, n.stream}
			if before, ok := last[at]; ok && before >= n.number {
				t.Errorf("%s: stream %d: %d came behind %d", name, n.stream, n.number, before)
			}
			last[at] = n.number
		}
	}
	for key, n := range byText {
		if n.rec.State == api.Submitted && arrived[key] == 0 {
			t.Errorf("%s: called submitted, and never came: %.60q", n.session, n.text)
		}
	}
}

// killEverySoOften kills the server n times, or until ctx ends.
func killEverySoOften(ctx context.Context, t *testing.T, p api.Paths, n int) {
	c := dial(t, p)
	for range n {
		// servers that all end at once would make the keeper pause
		if clock.Sleep(ctx, time.Duration(300+rand.IntN(1500))*time.Millisecond) != nil {
			return
		}
		st, err := c.Status(ctx)
		if err != nil {
			if !errors.Is(err, api.ErrUnreachable) && ctx.Err() == nil {
				t.Errorf("status: %v", err)
			}
			continue
		}
		_ = unix.Kill(st.Server.PID, unix.SIGKILL)
	}
}
