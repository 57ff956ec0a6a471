package server

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// dieAt makes a server die at a step: the file "fault" in its state directory
// names the step, and is removed then.
func dieAt(argv []string) func(string) {
	return func(step string) {
		if len(argv) < 3 {
			return
		}
		path := argv[2] + "/fault"
		if b, err := os.ReadFile(path); err == nil && string(b) == step && os.Remove(path) == nil {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // not one step more
		}
	}
}

var execSteps = []string{"recorded", "started", "ended", "finished", "leased", "injecting", "typed", "delivered"}

// startOwner runs a composer that echoes submitted messages on its terminal.
func startOwner(t testing.TB, c *client.Client, die string) api.SessionInfo {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var s api.SessionInfo
	err = retry(t.Context(), func() error {
		s, err = c.Create(t.Context(), api.CreateRequest{
			Name: "owner", Argv: []string{exe}, Cols: 400,
			Env: append([]string{receiverVar + "=paste", "MUX_TEST_OUT=/dev/null", "MUX_TEST_DIE=" + die}, testEnv...),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// said counts how often the owners' terminals show that the tag was submitted.
func said(t testing.TB, c *client.Client, owners []string, id string) int {
	t.Helper()
	n := 0
	for _, owner := range owners {
		var p api.PeekResult
		err := retry(t.Context(), func() (err error) {
			p, err = c.Peek(t.Context(), api.PeekRequest{Name: owner, Join: true})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(p.Text) {
			if strings.HasPrefix(line, "said ") {
				n += strings.Count(line, process.Tag(id+"/exit"))
			}
		}
	}
	return n
}

// awaitState waits until the deliveries of commands have a state.
func awaitDeliveries(t testing.TB, c *client.Client, want process.DeliveryState, ids ...string) {
	t.Helper()
	deadline := time.Now().Add(40 * time.Second)
	for _, id := range ids {
		for {
			var r api.ExecResult
			err := retry(t.Context(), func() (err error) { r, err = c.Process(t.Context(), id); return err })
			if err != nil {
				t.Fatal(err)
			}
			if r.Delivery == string(want) {
				break
			}
			if time.Now().After(deadline) {
				d, _ := c.Deliveries(t.Context(), "", "")
				t.Fatalf("%s is %q, want %q: %+v; deliveries %+v\nowner:\n%s", id, r.Delivery, want, r, d, screenText(t, c, "owner"))
			}
			if err := clock.Sleep(t.Context(), 10*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// background starts a command whose end is not in the reply: on a busy machine
// a short command may end earlier, and is then started again.
func background(t testing.TB, c *client.Client, command string) string {
	t.Helper()
	for {
		r := run(t, c, api.ExecRequest{Command: command, Background: true, Owner: "owner"})
		if !r.Status.Ended() {
			return r.ID
		}
	}
}

// TestExecWakesItsOwner: the owner gets one message for an end, none for an end that it
// has seen, and one for several ends.
func TestExecWakesItsOwner(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	s := startOwner(t, c, "no")
	id := background(t, c, "echo the output; exit 3")
	awaitDeliveries(t, c, process.Delivered, id)
	text := screenText(t, c, "owner")
	for _, want := range []string{"failed with status 3", "the output", process.Tag(id + "/exit")} {
		if !strings.Contains(text, want) {
			t.Errorf("the message lacks %q:\n%s", want, text)
		}
	}
	// The owner's own poll consumes it; another caller's does not.
	mine := run(t, c, api.ExecRequest{Command: "true", Background: true, Owner: "away"})
	awaitCommand(t, c, mine.ID, "somebody else")
	awaitDeliveries(t, c, process.Pending, mine.ID)
	awaitCommand(t, c, mine.ID, "away")
	awaitDeliveries(t, c, process.Consumed, mine.ID)
	// Foreground, never: no message.
	for _, r := range []api.ExecRequest{{Command: "true", Owner: "owner"}, {Command: "true", Owner: "owner", Background: true, Notify: process.NotifyNever}} {
		r := run(t, c, r)
		awaitCommand(t, c, r.ID, "")
		awaitDeliveries(t, c, "", r.ID)
	}
	var ids []string
	for i := range 25 {
		ids = append(ids, background(t, c, "echo number "+strconv.Itoa(i)))
	}
	awaitDeliveries(t, c, process.Delivered, ids...)
	for _, id := range append(ids, id) {
		if n := said(t, c, []string{s.ID}, id); n != 1 {
			t.Errorf("%s was said %d times", id, n)
		}
	}
}

// TestExecShutdownWakesNoSession: commands that gc kills while shutting down cause
// no message.
func TestExecShutdownWakesNoSession(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	id := background(t, c, "sleep 300")
	if err := c.Shutdown(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	c = startServerAt(t, c.Paths())
	r, err := c.Process(t.Context(), id)
	if err != nil || r.Status != process.Killed || r.Reason != process.IntentShutdown || r.Delivery != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestExecFaults: after a kill of the server at any step, the owner gets
// exactly one message.
func TestExecFaults(t *testing.T) {
	t.Parallel()
	for _, step := range execSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			c := startServer(t)
			s := startOwner(t, c, "no")
			if err := os.WriteFile(c.Paths().Dir+"/fault", []byte(step), 0o600); err != nil {
				t.Fatal(err)
			}
			key := "k-" + step
			var r api.ExecResult
			err := retry(t.Context(), func() (err error) {
				r, err = c.Exec(t.Context(), api.ExecRequest{Command: "echo x", Background: true, Owner: "owner", Key: key, Env: testEnv})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			state, want := process.Delivered, 1
			if r.Status.Ended() { // the second request's reply already showed the end to the owner
				state, want = process.Consumed, 0
			}
			awaitDeliveries(t, c, state, r.ID)
			awaitGone(t, c.Paths().Dir+"/fault")
			if n := said(t, c, []string{s.ID}, r.ID); n != want {
				t.Errorf("%s, said %d times:\n%s", state, n, screenText(t, c, "owner"))
			}
		})
	}
}

// awaitGone waits until a server has reached the step that the file names.
func awaitGone(t testing.TB, path string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		if _, err := os.Stat(path); err != nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the server did not come to the step")
		}
		if err := clock.Sleep(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExecOwnerDies: an owner that was killed at any step of its own gets one message
// when it runs again.
func TestExecOwnerDies(t *testing.T) {
	t.Parallel()
	for _, die := range []string{"read", "submit", "said"} {
		t.Run(die, func(t *testing.T) {
			t.Parallel()
			c := startServer(t)
			first := startOwner(t, c, die)
			id := background(t, c, "echo x")
			awaitExit(t, c, first.ID)
			second := startOwner(t, c, "no")
			awaitDeliveries(t, c, process.Delivered, id)
			if n := said(t, c, []string{first.ID, second.ID}, id); n != 1 {
				t.Errorf("said %d times:\n%s\nand\n%s", n, screenText(t, c, first.ID), screenText(t, c, second.ID))
			}
		})
	}
}

// soakRuns is how many commands end while the server and the owner are
// killed at random: a few here, as many as GC_SOAK_RUNS says in a soak.
func soakRuns() int {
	if n, err := strconv.Atoi(os.Getenv("GC_SOAK_RUNS")); err == nil {
		return n
	}
	return 20
}

// TestExecRandomKills kills the server and the owner at random while commands
// end: each end is delivered exactly once.
func TestExecRandomKills(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	const round = 10
	for done := 0; done < soakRuns(); done += round {
		owners := []string{startOwner(t, c, "no").ID}
		var ids []string
		for i := range round {
			var r api.ExecResult
			err := retry(t.Context(), func() (err error) {
				r, err = c.Exec(t.Context(), api.ExecRequest{
					Command: fmt.Sprintf("sleep 0.%d", rnd.IntN(9)), Background: true, Owner: "owner",
					Key: fmt.Sprintf("%d-%d", done, i), Env: testEnv,
				})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status.Ended() { // the reply to a repeated request had it
				awaitDeliveries(t, c, process.Consumed, r.ID)
			} else {
				ids = append(ids, r.ID)
			}
			if rnd.IntN(4) == 0 {
				killServer(t, c)
			}
		}
		for range 4 {
			if err := clock.Sleep(t.Context(), time.Duration(rnd.IntN(700))*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(3) > 0 {
				killServer(t, c)
				continue
			}
			var s api.SessionInfo
			if err := retry(t.Context(), func() (err error) { s, err = c.Get(t.Context(), "owner"); return err }); err != nil {
				t.Fatal(err)
			}
			_ = unix.Kill(s.PID, unix.SIGKILL)
			awaitExit(t, c, s.ID)
			owners = append(owners, startOwner(t, c, "no").ID)
		}
		awaitDeliveries(t, c, process.Delivered, ids...)
		for _, id := range ids {
			if n := said(t, c, owners, id); n != 1 {
				t.Errorf("%s was said %d times", id, n)
			}
		}
		if err := c.Kill(t.Context(), "owner", 0); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
}
