package follow

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/mux/api"
)

// screen is what a session shows from a time on, counted from the start.
type screen struct {
	at     time.Duration
	lines  []string
	first  uint64 // number of the first line
	closed uint64 // lines before it scrolled off
	cursor uint64 // line of the cursor
	exit   bool
}

// session plays screens. Every screen is a revision.
type session struct {
	began   time.Time
	screens []screen
}

func (s *session) now() int {
	i := 0
	for i+1 < len(s.screens) && time.Since(s.began) >= s.screens[i+1].at {
		i++
	}
	return i
}

func (s *session) Peek(context.Context, api.PeekRequest) (api.PeekResult, error) {
	i := s.now()
	now := s.screens[i]
	res := api.PeekResult{Text: strings.Join(now.lines, "\n"), Revision: uint64(i + 1)}
	res.Lines = &api.LineNumbers{First: now.first, Closed: now.closed, Cursor: now.cursor}
	if now.exit {
		res.Exit = &api.Exit{}
	}
	return res, nil
}

func (s *session) Wait(ctx context.Context, _ string, r api.WaitRequest) (api.WaitResult, error) {
	until := time.Hour
	if i := s.now(); uint64(i+1) != *r.Conditions[0].Changed {
		until = 0
	} else if i+1 < len(s.screens) {
		until = s.screens[i+1].at - time.Since(s.began)
	}
	if r.Timeout > 0 {
		until = min(until, r.Timeout)
	}
	select {
	case <-time.After(until):
		return api.WaitResult{}, nil
	case <-ctx.Done():
		return api.WaitResult{}, ctx.Err()
	}
}

// printed is what a follower prints, with the times.
func printed(t *testing.T, screens ...screen) (out []string) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{began: time.Now(), screens: screens}
		f := &Follower{Source: s, Print: func(line string) error {
			out = append(out, time.Since(s.began).Round(100*time.Millisecond).String()+" "+line)
			return nil
		}}
		f.Note = func(text string) { out = append(out, "note: "+text) }
		res, _ := s.Peek(t.Context(), api.PeekRequest{})
		exit, err := f.Run(t.Context(), res)
		if err != nil || exit == nil {
			t.Errorf("ended with %v, %v", exit, err)
		}
	})
	return out
}

func TestLinesThatAreFinal(t *testing.T) {
	got := printed(t,
		screen{0, []string{"old", "$ "}, 0, 0, 1, false},
		screen{time.Second, []string{"old", "new", "$ "}, 0, 0, 2, false},
		screen{5 * time.Second, []string{"old", "new", "scrolled", "$ "}, 0, 3, 3, false},
		screen{9 * time.Second, []string{"old", "new", "scrolled", "at the cursor"}, 0, 3, 3, true},
	)
	// A line above the cursor waits for quietFirst, one that scrolled off does
	// not; a peek may be late by one pause.
	want := []string{"0s old", "1.3s new", "5.1s scrolled", "9.1s at the cursor"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A line that is repainted is printed again, but only once it is stable.
func TestRepaintedLine(t *testing.T) {
	got := printed(t,
		screen{0, []string{""}, 0, 0, 0, false},
		screen{time.Second, []string{"10 %", ""}, 0, 0, 1, false},
		screen{1100 * time.Millisecond, []string{"20 %", ""}, 0, 0, 1, false},
		screen{2 * time.Second, []string{"30 %", ""}, 0, 0, 1, false},
		screen{3 * time.Second, []string{"40 %", ""}, 0, 0, 1, false},
		screen{8 * time.Second, []string{"40 %", ""}, 0, 0, 1, true},
	)
	want := []string{"1.4s 20 %", "5.1s 40 %", "8.1s "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMissedLines(t *testing.T) {
	got := printed(t,
		screen{0, []string{"a", ""}, 0, 0, 1, false},
		screen{time.Second, []string{"z", ""}, 101, 101, 102, true},
	)
	want := []string{"0s a", "note: 101 lines were not kept", "1.1s z", "1.1s "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
