package ofmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/vt"
)

func TestPage(t *testing.T) {
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
		h, err := historyOf("one\ntwo\nThree \x1b[31mred\x1b[0m\nfour\nfive\n", 20, c.page)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, l := range h.Lines {
			got = append(got, l.N)
		}
		if !slices.Equal(got, c.want) || h.More != c.more || h.Total != 6 {
			t.Errorf("%+v: %v, want %v, more %v, total %d", c.page, got, c.want, h.More, h.Total)
		}
	}
}

// TestLongHistory: every row of a long history can be reached, page by page, also wrapped ones,
// and its oldest ones are found.
func TestLongHistory(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "\x1b[32mline %d\x1b[0m\n", i)
		if i%100 == 0 {
			fmt.Fprintf(&text, "%s\n", strings.Repeat("wide 日本", 6)) // 54 columns: three rows of 20
		}
	}
	const rows = 5000 + 50*3
	next, before := uint64(rows), uint64(0)
	for pages := 0; next > 0; pages++ {
		h, err := historyOf(text.String(), 20, fleet.Page{Before: before})
		if err != nil || h.Total != rows+1 || len(h.Lines) == 0 || pages > 20 {
			t.Fatalf("page %d: %d rows of %d, %v", pages, len(h.Lines), h.Total, err)
		}
		for _, l := range slices.Backward(h.Lines) {
			if l.N != next {
				t.Fatalf("row %d, want %d", l.N, next)
			}
			next--
		}
		if before = h.Lines[0].N; h.More != (before > 1) {
			t.Errorf("before row %d: more is %v", before, h.More)
		}
	}
	h, err := historyOf(text.String(), 20, fleet.Page{Search: "line 7"})
	if err != nil || len(h.Lines) != 111 {
		t.Fatalf("%d rows, %v", len(h.Lines), err)
	}
	if first := h.Lines[0]; err != nil || h.More || first.N != 8+3 || first.Line.Runs[0].Text != "line 7" || first.Line.Runs[0].Style == (vt.Style{}) {
		t.Errorf("%+v, %v", first, err)
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
