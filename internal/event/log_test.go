package event

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLog(keep int) *Log[int] { return NewLog[int](Options{Keep: keep}) }

func appendN(l *Log[int], from, to int) {
	for i := from; i <= to; i++ {
		l.Append(i)
	}
}

func subscribe(t *testing.T, l *Log[int], after Position) *Subscription[int] {
	t.Helper()
	s, err := l.Subscribe(after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// next takes one event; its value is always its number in these tests.
func next(t *testing.T, s *Subscription[int], want int) {
	t.Helper()
	item, err := s.Next(t.Context())
	if err != nil || item.Value != want || item.Seq != uint64(want) {
		t.Fatalf("got %+v %v, want %d", item, err, want)
	}
}

func TestFollow(t *testing.T) {
	l := newLog(0)
	appendN(l, 1, 3)
	all := subscribe(t, l, Position{l.Epoch(), 0})
	mid := subscribe(t, l, Position{l.Epoch(), 2})
	now := subscribe(t, l, Position{})
	appendN(l, 4, 5)
	for i := 1; i <= 5; i++ {
		next(t, all, i)
		if i > 2 {
			next(t, mid, i)
		}
		if i > 3 {
			next(t, now, i)
		}
	}
	if got := all.Position(); got != l.Position() || got.Seq != 5 {
		t.Errorf("position %v", got)
	}
}

func TestPositions(t *testing.T) {
	l := newLog(10)
	appendN(l, 1, 25)
	cases := []struct {
		name  string
		after Position
		want  error
	}{
		{"now", Position{}, nil},
		{"newest", l.Position(), nil},
		{"oldest", l.Oldest(), nil},
		{"too old", Position{l.Epoch(), 14}, ErrGone},
		{"before everything", Position{l.Epoch(), 0}, ErrGone},
		{"future", Position{l.Epoch(), 26}, ErrGone},
		{"other epoch", Position{"other", 20}, ErrGone},
		{"no epoch", Position{"", 20}, ErrGone},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := l.Subscribe(c.after)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v %v", s, err)
			}
		})
	}
	next(t, subscribe(t, l, l.Oldest()), 16)
	if l.Epoch() == newLog(0).Epoch() {
		t.Error("two logs have one epoch")
	}
}

func TestPositionText(t *testing.T) {
	l := newLog(0)
	appendN(l, 1, 3)
	for _, p := range []Position{{}, l.Position(), {l.Epoch(), 0}} {
		if got, err := ParsePosition(p.String()); err != nil || got != p {
			t.Errorf("%v became %v, %v", p, got, err)
		}
	}
	for _, s := range []string{"x", ":1", "a:", "a:-1", "a:1:2", "a:99999999999999999999"} {
		if p, err := ParsePosition(s); !errors.Is(err, ErrPosition) {
			t.Errorf("%q became %v, %v", s, p, err)
		}
	}
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(0)
		s := subscribe(t, l, Position{})
		var got Item[int]
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, _ = s.Next(t.Context())
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("returned without an event")
		default:
		}
		l.Append(1)
		<-done
		if got.Seq != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestNextEnds(t *testing.T) {
	ends := map[string]struct {
		end  func(*Log[int], *Subscription[int], context.CancelFunc)
		want error
	}{
		"context":      {func(_ *Log[int], _ *Subscription[int], c context.CancelFunc) { c() }, context.Canceled},
		"subscription": {func(_ *Log[int], s *Subscription[int], _ context.CancelFunc) { s.Close(); s.Close() }, ErrClosed},
		"log":          {func(l *Log[int], _ *Subscription[int], _ context.CancelFunc) { l.Close() }, ErrClosed},
	}
	for name, c := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLog(0)
				s := subscribe(t, l, Position{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				got := make(chan error, 1)
				go func() { _, err := s.Next(ctx); got <- err }()
				synctest.Wait()
				c.end(l, s, cancel)
				if err := <-got; !errors.Is(err, c.want) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestContextEndsOneCallOnly(t *testing.T) {
	l := newLog(0)
	s := subscribe(t, l, Position{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	l.Append(1)
	next(t, s, 1)
}

func TestCloseDeliversTheRest(t *testing.T) {
	l := newLog(0)
	s := subscribe(t, l, Position{})
	l.Append(1)
	l.Close()
	if n := l.Append(2); n != 0 {
		t.Errorf("appended as %d", n)
	}
	next(t, s, 1)
	if _, err := s.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := l.Subscribe(Position{}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestSlowSubscriber(t *testing.T) {
	cases := []struct {
		name   string
		events int
		resume uint64
		missed uint64
		slow   bool
	}{
		{"just in time", 12, 0, 0, false},
		{"one lost", 13, 3, 1, true},
		{"many lost", 100, 90, 88, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLog(10)
			s := subscribe(t, l, Position{})
			appendN(l, 1, 2)
			next(t, s, 1)
			next(t, s, 2)
			appendN(l, 3, c.events)
			_, err := s.Next(t.Context())
			var slow *SlowError
			if errors.As(err, &slow) != c.slow || errors.Is(err, ErrSlow) != c.slow {
				t.Fatalf("got %v", err)
			}
			if !c.slow {
				return
			}
			if slow.Resume.Seq != c.resume || slow.Missed != c.missed {
				t.Errorf("got %+v", slow)
			}
			if _, again := s.Next(t.Context()); !errors.Is(again, ErrSlow) {
				t.Errorf("then %v", again)
			}
			next(t, subscribe(t, l, slow.Resume), int(c.resume)+1)
		})
	}
}

// TestManySubscribers: every subscriber sees everything in order while several
// writers append, and a subscriber that does not read blocks no one.
func TestManySubscribers(t *testing.T) {
	const writers, events, readers = 4, 500, 16
	l := newLog(writers * events)
	idle := subscribe(t, l, Position{})
	var wg sync.WaitGroup
	for range readers {
		s := subscribe(t, l, Position{})
		wg.Go(func() {
			for want := uint64(1); want <= writers*events; want++ {
				item, err := s.Next(t.Context())
				if err != nil || item.Seq != want {
					t.Errorf("got %+v %v, want %d", item, err, want)
					return
				}
			}
		})
	}
	for range writers {
		wg.Go(func() { appendN(l, 1, events) })
	}
	wg.Wait()
	if idle.Position().Seq != 0 {
		t.Error("the idle subscriber moved")
	}
}

// TestAgainstModel: for any history of appends and reads a subscriber sees the
// numbers without gap, or an exact account of the gap.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keep := rapid.IntRange(1, 20).Draw(rt, "keep")
		l := newLog(keep)
		s, err := l.Subscribe(Position{})
		if err != nil {
			rt.Fatal(err)
		}
		total, at := 0, 0
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			n := rapid.IntRange(0, 6).Draw(rt, "appends")
			appendN(l, total+1, total+n)
			total += n
			for range min(rapid.IntRange(0, 6).Draw(rt, "reads"), total-at) {
				item, err := s.Next(context.Background())
				var slow *SlowError
				if errors.As(err, &slow) {
					if int(slow.Resume.Seq) != at+int(slow.Missed) || int(slow.Resume.Seq) < total-keep {
						rt.Fatalf("at %d of %d: %v", at, total, err)
					}
					at = int(slow.Resume.Seq)
					if s, err = l.Subscribe(slow.Resume); err != nil {
						rt.Fatal(err)
					}
					break
				}
				at++
				if err != nil || item.Value != at || item.Seq != uint64(at) {
					rt.Fatalf("got %+v %v, want %d", item, err, at)
				}
			}
		}
	})
}
