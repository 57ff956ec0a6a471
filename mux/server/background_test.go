package server

import (
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
)

// TestBackgroundAxis: a program that is idle while a background command of its own runs, or
// while it reports that a part of it works, is both.
func TestBackgroundAxis(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "a", say("7501;state=idle")+"exec sleep 1000")
	create(t, c, "parts", say("7501;state=idle:app=x", "7501;state=working:id=bg/1:title=VGVzdHM")+"read x; "+say("7501;state=done:id=bg/1")+"exec sleep 1000")
	create(t, c, "other", say("7501;state=idle")+"exec sleep 1000")
	wait := func(name string, cond api.Condition, timeout time.Duration) api.WaitResult {
		t.Helper()
		r, err := c.Wait(t.Context(), name, api.WaitRequest{Conditions: []api.Condition{cond}, Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	free, idle := api.Condition{Free: true}, api.Condition{Idle: true}
	if r := wait("a", free, 10*time.Second); r.Met != 0 {
		t.Fatal(r)
	}
	cmd, err := c.Exec(t.Context(), api.ExecRequest{Command: "sleep 1000", Owner: "a", Background: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "parts"} {
		if r := wait(name, idle, 10*time.Second); r.Met != 0 {
			t.Error(name, r)
		}
		if r := wait(name, free, 100*time.Millisecond); !r.TimedOut {
			t.Error(name, r, doingNow(t, c, name))
		}
	}
	if a := doingNow(t, c, "a"); a.State != api.ActivityIdle || len(a.Background) != 1 || a.Background[0].ID != cmd.ID || a.Background[0].Text != "sleep 1000" {
		t.Errorf("%+v", a)
	}
	if a := doingNow(t, c, "parts"); a.State != api.ActivityIdle || len(a.Background) != 1 || a.Background[0].ID != "bg/1" || a.Background[0].Text != "Tests" {
		t.Errorf("%+v", a)
	}
	if a := doingNow(t, c, "other"); len(a.Background) != 0 {
		t.Errorf("%+v", a)
	}
	ends := make(chan api.WaitResult, 1)
	go func() { ends <- wait("a", free, 20*time.Second) }()
	if err := c.Keys(t.Context(), "parts", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if r := wait("parts", free, 20*time.Second); r.Met != 0 {
		t.Error(r)
	}
	if _, err := c.ProcessKill(t.Context(), cmd.ID, "a", time.Second); err != nil {
		t.Fatal(err)
	}
	if r := <-ends; r.Met != 0 {
		t.Error(r)
	}
}
