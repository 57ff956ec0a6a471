package ofmux

import (
	"context"
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

func TestPage(t *testing.T) {
	lines, err := rows("one\ntwo\nThree \x1b[31mred\x1b[0m\nfour\nfive\n", 20)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 6 && len(lines) != 5 {
		t.Fatalf("%d rows", len(lines))
	}
	lines = lines[:5]
	for _, c := range []struct {
		page fleet.Page
		want []uint64
		more bool
	}{
		{fleet.Page{}, []uint64{1, 2, 3, 4, 5}, false},
		{fleet.Page{Lines: 2}, []uint64{4, 5}, true},
		{fleet.Page{Before: 4, Lines: 2}, []uint64{2, 3}, true},
		{fleet.Page{Before: 1}, nil, false},
		{fleet.Page{Search: "THREE RED"}, []uint64{3}, false},
		{fleet.Page{Search: "f", Lines: 1}, []uint64{5}, true},
		{fleet.Page{Search: "nothing"}, nil, false},
	} {
		h := fleet.PageOf(lines, c.page)
		var got []uint64
		for _, l := range h.Lines {
			got = append(got, l.N)
		}
		if len(got) != len(c.want) || h.More != c.more || h.Total != 6 {
			t.Errorf("%+v: %v, more %v, total %d", c.page, got, h.More, h.Total)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%+v: %v, want %v", c.page, got, c.want)
			}
		}
	}
}

func TestNeeds(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		activity api.Activity
		kind     string
	}{
		{api.Activity{State: status.Idle}, ""},
		{api.Activity{State: status.Working}, ""},
		{api.Activity{State: status.Unknown}, ""},
		{api.Activity{State: status.Done, Since: now}, "done"},
		{api.Activity{State: status.Error}, "error"},
		{api.Activity{State: status.Blocked, Kind: status.Auth}, "login"},
		{api.Activity{State: status.Blocked, Kind: status.Permission, Pending: &status.Pending{ID: "r1", Prompt: "May I?", Options: []string{"Yes"}}}, "question"},
		{api.Activity{State: status.Blocked, Kind: status.RateLimit, Limit: &status.Limit{Text: "until three"}}, "limited"},
	} {
		a := agentOf(&api.SessionInfo{Name: "x", ID: "i", State: api.StateRunning, Command: "/bin/sh -c x"})
		ShowActivity(&a, &c.activity)
		got := needs(&a)
		switch {
		case c.kind == "" && len(got) != 0, c.kind != "" && (len(got) != 1 || got[0].Kind != c.kind || got[0].Agent != "x"):
			t.Errorf("%+v: %+v", c.activity, got)
		case c.kind == "question" && (got[0].Text != "May I?" || a.Question == nil || a.Question.Request != "r1"):
			t.Errorf("%+v, %+v", got, a.Question)
		}
	}
	gone := agentOf(&api.SessionInfo{Name: "x", State: api.StateExited, Exit: &api.Exit{Code: 3}})
	if gone.State != exited || len(gone.Can) != 0 || gone.Exit == "" || needs(&gone) != nil {
		t.Errorf("%+v", gone)
	}
}

// TestWatchSaysWhyItIsLost: without a server the person is told so, and since when.
func TestWatchSaysWhyItIsLost(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{{api.ErrNoServer, "no multiplexer is running"}, {errors.New("ssh: no route"), "ssh: no route"}} {
		m := Open("sessions", "", func(context.Context) (*client.Client, error) { return nil, c.err })
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		_ = m.Watch(ctx, func(s fleet.Snapshot) {
			if s.Lost != c.want || s.LostSince.IsZero() {
				t.Errorf("%+v", s)
			}
			if calls++; calls == 2 {
				cancel()
			}
		})
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNewest: a name is one agent, whatever ended sessions of it are kept.
func TestNewest(t *testing.T) {
	at := time.Now()
	of := func(id, name, state, kind string, minute int) api.SessionInfo {
		return api.SessionInfo{ID: id, Name: name, State: state, Kind: kind, Started: at.Add(time.Duration(minute) * time.Minute)}
	}
	got := newest([]api.SessionInfo{
		of("1", "a", api.StateExited, "", 1), of("2", "b", api.StateRunning, "", 1), of("3", "a", api.StateExited, "", 3),
		of("4", "a", api.StateExited, "", 2), of("5", "b", api.StateExited, "", 9), of("6", "c", api.StateRunning, api.KindExec, 1),
	})
	if len(got) != 2 || got[0].ID != "3" || got[1].ID != "2" {
		t.Errorf("%+v", got)
	}
}

// TestLinesKeep: those that wait learn of other sessions, not of other revisions.
func TestLinesKeep(t *testing.T) {
	var l lines
	l.keep(map[string]lastLine{"a": {1, "x"}})
	shown, other := l.watched()
	if len(shown) != 1 {
		t.Errorf("%v", shown)
	}
	l.keep(map[string]lastLine{"a": {2, "x"}})
	select {
	case <-other:
		t.Error("another revision is said to be another session")
	default:
	}
	l.keep(map[string]lastLine{"b": {1, "x"}})
	<-other
	if _, again := l.watched(); again == other {
		t.Error("the same channel again")
	}
	before := lastLine{1, "old"}
	for _, c := range []struct {
		r    api.PeekResult
		want lastLine
		ok   bool
	}{
		{api.PeekResult{Unchanged: true}, before, true},
		{api.PeekResult{Revision: 2, Text: "one\n two \n"}, lastLine{2, " two"}, true},
		{api.PeekResult{Error: &api.RemoteError{}}, lastLine{}, false},
	} {
		if got, ok := lineOf(&c.r, before); got != c.want || ok != c.ok {
			t.Errorf("%+v: %+v, %v", c.r, got, ok)
		}
	}
}
