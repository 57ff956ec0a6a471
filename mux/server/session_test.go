package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
)

func TestSessionShowsWhatItsProgramWrites(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "a", `printf 'hello\nworld\n'; exec cat`)
	await(t, c, "a", "^world")
	if got := screenText(t, c, "a"); got != "hello\nworld" {
		t.Fatalf("screen %q", got)
	}
	if err := c.Keys(t.Context(), "a", []string{"x", "y", "Enter"}, false); err != nil {
		t.Fatal(err)
	}
	await(t, c, "a", "^xy$")
	if err := c.Kill(t.Context(), "a", time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "a"); !errors.Is(err, api.ErrNotFound) {
		t.Fatalf("after kill: %v", err)
	}
}

func TestExitIsKept(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for _, tc := range []struct {
		command, signal, reason, screen string
		code                            int
	}{
		{"echo bye; exit 7", "", api.ReasonExited, "bye", 7},
		{"kill -9 $$", "SIGKILL", api.ReasonKilled, "", 137},
		{"gc-no-such-command", "", api.ReasonNotFound, "not found", 127},
	} {
		create(t, c, "e", tc.command)
		x := awaitExit(t, c, "e")
		if x.Code != tc.code || x.Signal != tc.signal || x.Reason != tc.reason {
			t.Errorf("%s: exit %+v", tc.command, x)
		}
		if got := screenText(t, c, "e"); !strings.Contains(got, tc.screen) {
			t.Errorf("%s: screen %q", tc.command, got)
		}
	}
	all, err := c.List(t.Context(), "", true)
	if err != nil || len(all) != 3 {
		t.Fatalf("list: %+v, %v", all, err)
	}
	if live, _ := c.List(t.Context(), "", false); len(live) != 0 {
		t.Fatalf("live: %+v", live)
	}
}

func TestNudgeSubmits(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "n", `while read -r x; do echo "got $x"; done`)
	r, err := c.Nudge(t.Context(), "n", api.NudgeRequest{Text: "hello there"})
	if err != nil || r.State != api.Submitted {
		t.Fatalf("receipt %+v, %v", r, err)
	}
	await(t, c, "n", "^got hello there$")
	if got := screenText(t, c, "n"); got != "hello there\ngot hello there" {
		t.Fatalf("screen %q", got)
	}
}
