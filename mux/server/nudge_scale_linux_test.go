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

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// scale is how much one run of many nudges does.
type scale struct{ writers, inFlight, sessions, nudges, kills int }

// scaleOf is a short form, or the long one with GC_SOAK=1.
func scaleOf(short, long scale) scale {
	if os.Getenv("GC_SOAK") == "1" {
		return long
	}
	return short
}

// sent is one nudge and what came of it.
type sent struct {
	session, text string
	lane, number  int // numbers of one lane and session go up
	rec           api.Receipt
}

// TestScaleNudges: of many writers into many composers that take an early
// Enter for a newline, with and without mode 2004, every message arrives once,
// whole, in order, and submitted.
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
			t.Errorf("%s %d/%d: %+v", n.session, n.lane, n.number, n.rec)
		}
	}
	checkArrived(t, all, outs)
}

// TestScaleNudgesAcrossKills kills the server all the time: a nudge is finished
// or reported, never repeated, and what is called submitted arrived.
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

// startReceivers starts composers and returns the files of what they got.
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

// sendMany sends z.nudges from z.writers clients, each with z.inFlight of them
// under way.
func sendMany(t *testing.T, p api.Paths, z scale) []sent {
	var mu sync.Mutex
	var all []sent
	var wg sync.WaitGroup
	lanes := z.writers * z.inFlight
	for w := range z.writers {
		c := dial(t, p)
		for k := range z.inFlight {
			lane := w*z.inFlight + k
			wg.Go(func() {
				for i := range (z.nudges + lanes - 1 - lane) / lanes {
					n := sent{session: fmt.Sprintf("s%02d", (lane+i)%z.sessions), lane: lane, number: i}
					n.text = messageOf(lane, i)
					var err error
					n.rec, err = c.Nudge(t.Context(), n.session, api.NudgeRequest{Text: n.text, Timeout: time.Minute})
					if err != nil {
						t.Errorf("lane %d, %d: %v", lane, i, err)
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

// messageOf is a message of up to 2 KB that tells where it is from.
func messageOf(lane, number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "lane %d number %d:", lane, number)
	for i := range (lane*7 + number*13) % 60 {
		fmt.Fprintf(&b, " wörd%d of a message", i)
		if i%9 == 8 {
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, " end of %d/%d", lane, number)
	return b.String()
}

// checkArrived compares what the composers got with what was sent.
func checkArrived(t *testing.T, all []sent, outs map[string]string) {
	t.Helper()
	type place struct {
		session string
		lane    int
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
				t.Errorf("%s got what nobody sent: %.200q", name, text)
				continue
			}
			if arrived[key]++; arrived[key] > 1 {
				t.Errorf("%s got it %d times: %.60q, %+v", name, arrived[key], text, n.rec)
			}
			at := place{name, n.lane}
			if before, ok := last[at]; ok && before >= n.number {
				t.Errorf("%s: lane %d: %d came behind %d", name, n.lane, n.number, before)
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
		// Servers that all end at once would make the keeper pause.
		if sys.Sleep(ctx, time.Duration(300+rand.IntN(1500))*time.Millisecond) != nil {
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
