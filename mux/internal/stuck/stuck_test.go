package stuck

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
)

var begin = time.Unix(1_800_000_000, 0)

// run looks at a program whenever the watch asks for it, from begin on, and returns when it is
// stuck; 0 if it is not within limit. at says what a look finds.
func run(t *testing.T, after, limit time.Duration, at func(d time.Duration) (Sample, error)) (stuckAt, still time.Duration) {
	t.Helper()
	w := Watch{After: after}
	now := begin
	for now.Sub(begin) < limit {
		next := w.Works(begin, now)
		if !next.After(now) {
			t.Fatalf("it is to be looked at at %v, at %v", next.Sub(begin), now.Sub(begin))
		}
		now = next
		s, err := at(now.Sub(begin))
		w.Take(s, err, now)
		if is, since, _ := w.Stuck(); is {
			return now.Sub(begin), now.Sub(since)
		}
	}
	return 0, 0
}

func TestStuck(t *testing.T) {
	t.Parallel()
	const after = 16 * time.Minute
	still := Sample{Screen: 1, Procs: []proctree.ID{{PID: 7, Start: 1}}, CPU: time.Second, Net: Traffic{Sockets: []uint64{5}, Bytes: 9}}
	for name, x := range map[string]struct {
		at   func(d time.Duration) (Sample, error)
		want time.Duration
	}{
		"nothing moves": {func(time.Duration) (Sample, error) { return still, nil }, 20 * time.Minute},
		"its timers": {func(d time.Duration) (Sample, error) {
			s := still
			s.CPU += d / 100
			return s, nil
		}, 20 * time.Minute},
		"it computes": {func(d time.Duration) (Sample, error) {
			s := still
			s.CPU += d / 10
			return s, nil
		}, 0},
		"its screen": {func(d time.Duration) (Sample, error) {
			s := still
			s.Screen = uint64(d)
			return s, nil
		}, 0},
		"its network": {func(d time.Duration) (Sample, error) {
			s := still
			s.Net.Bytes += uint64(d / time.Minute)
			return s, nil
		}, 0},
		"its children": {func(d time.Duration) (Sample, error) {
			s := still
			s.Procs = append(s.Procs[:1:1], proctree.ID{PID: 8, Start: uint64(d)})
			return s, nil
		}, 0},
		"its connections": {func(d time.Duration) (Sample, error) {
			s := still
			s.Net.Sockets = []uint64{uint64(d)}
			return s, nil
		}, 0},
		"the screen, for ten minutes": {func(d time.Duration) (Sample, error) {
			s := still
			s.Screen = uint64(min(d, 10*time.Minute))
			return s, nil
		}, 28 * time.Minute},
		"cannot tell": {func(time.Duration) (Sample, error) { return Sample{}, errors.New("another user's") }, 0},
		"cannot tell at first": {func(d time.Duration) (Sample, error) {
			if d < 10*time.Minute {
				return Sample{}, errors.New("another user's")
			}
			return still, nil
		}, 28 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, still := run(t, after, 3*time.Hour, x.at)
			if got != x.want || got > 0 && still != after {
				t.Errorf("stuck after %v, nothing moved for %v; want after %v, for %v", got, still, x.want, after)
			}
		})
	}
}

// TestNewTurn: what was seen in the turn before does not count.
func TestNewTurn(t *testing.T) {
	t.Parallel()
	w := Watch{After: 4 * time.Second}
	w.Works(begin, begin)
	w.Take(Sample{}, nil, begin.Add(time.Second))
	w.Take(Sample{}, nil, begin.Add(5*time.Second))
	if is, _, why := w.Stuck(); !is {
		t.Fatal(why)
	}
	turn := begin.Add(6 * time.Second)
	if look := w.Works(turn, turn); !look.Equal(turn.Add(time.Second)) {
		t.Errorf("the new turn is looked at %v after its begin", look.Sub(turn))
	}
	if is, _, why := w.Stuck(); is {
		t.Error(why)
	}
}

// TestMovesAgain: a stuck program that moves is not stuck.
func TestMovesAgain(t *testing.T) {
	t.Parallel()
	w := Watch{After: 4 * time.Second}
	w.Works(begin, begin)
	w.Take(Sample{}, nil, begin.Add(time.Second))
	w.Take(Sample{}, nil, begin.Add(5*time.Second))
	w.Take(Sample{Screen: 1}, nil, begin.Add(6*time.Second))
	if is, _, why := w.Stuck(); is {
		t.Error(why)
	}
	w.Take(Sample{}, errors.New("no permission"), begin.Add(20*time.Second))
	if is, _, why := w.Stuck(); is || !strings.Contains(why, "no permission") {
		t.Error(is, why)
	}
}
