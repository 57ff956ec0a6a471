package server

import (
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/internal/persontest"
)

// TestDoneTakesMessages: a program that reports done after its turns gets the second
// message like the first, and the end of its command.
func TestDoneTakesMessages(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ctx := t.Context()
	turn := say("7501;state=working") + `echo "got $x"; ` + say("7501;state=done")
	create(t, c, "a", say("7501;state=idle")+"while read x; do "+turn+"done")
	for _, text := range []string{"one", "two"} {
		it, err := c.Enqueue(ctx, api.QueueRequest{Target: "a", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		await(t, c, "a", "^got "+text)
		if it, err = c.AwaitQueued(ctx, it.ID); err != nil || it.State != api.QueueDelivered {
			t.Fatal(it, err)
		}
		r, err := c.Wait(ctx, "a", api.WaitRequest{Conditions: []api.Condition{{Idle: true}}, Timeout: 10 * time.Second})
		if err != nil || r.Met != 0 {
			t.Fatal(r, err, doingNow(t, c, "a"))
		}
	}
}

// TestDoneUntilSeen: peek and status leave done as it is; Seen and an attach
// end it.
func TestDoneUntilSeen(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ctx := t.Context()
	create(t, c, "demo", say("7501;state=done")+"read x; "+say("7501;state=working", "7501;state=done")+"echo again; read x")
	is := func(want string) {
		t.Helper()
		r, err := c.Wait(ctx, "demo", api.WaitRequest{Conditions: []api.Condition{{Idle: true}}, Timeout: 10 * time.Second})
		if err != nil || r.Met != 0 {
			t.Fatal(r, err)
		}
		if a := doingNow(t, c, "demo"); a.State != want {
			t.Fatalf("%+v, want %s", a, want)
		}
	}
	is(api.ActivityDone)
	if _, err := c.Peek(ctx, api.PeekRequest{Name: "demo"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Activities(ctx, []string{"demo"}); err != nil {
		t.Fatal(err)
	}
	is(api.ActivityDone)
	if err := c.Seen(ctx, "demo"); err != nil {
		t.Fatal(err)
	}
	is(api.ActivityIdle)
	if err := c.Keys(ctx, "demo", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	await(t, c, "demo", "^again")
	is(api.ActivityDone)
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("again")
	is(api.ActivityIdle)
	p.Types("\x02d")
	r.want(attach.Detached)
}
