package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// machine is an outbox that answers with what a test says.
type machine struct {
	take   func(after uint64) ([]Message, error)
	delete func(id string) error
	asked  int
}

func (m *machine) String() string { return "far" }

func (m *machine) Take(ctx context.Context, _ string, after uint64) ([]Message, error) {
	m.asked++
	list, err := m.take(after)
	if err == nil && len(list) == 0 {
		select {
		case <-time.After(2 * time.Minute):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return list, err
}

func (m *machine) Delete(_ context.Context, _, id string) error { return m.delete(id) }

// town records what is done.
type town struct {
	did   []string
	apply func(Message) error
}

func (c *town) Apply(_ context.Context, from string, m Message) error {
	if err := c.apply(m); err != nil {
		return err
	}
	c.did = append(c.did, "apply "+m.ID)
	return nil
}

func (c *town) Refuse(_ context.Context, from string, m Message, why error) error {
	c.did = append(c.did, "refuse "+m.ID+": "+why.Error())
	return nil
}

func (c *town) Forget(id string) { c.did = append(c.did, "forget "+id) }

// reading runs a reader for a time.
func reading(t *testing.T, m *machine, c *town, d time.Duration) (log []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		r := Reader{Outbox: m, Name: "town", City: c, Logf: func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }}
		r.Run(ctx)
	})
	return log
}

// A message is applied, deleted and forgotten in this order, before the next one. What
// failed is tried again, after a pause that grows, and an outbox that counts anew is read
// from its beginning.
func TestStepsInOrder(t *testing.T) {
	list := []Message{{ID: "a", Place: 7}, {ID: "b", Place: 9}}
	c := &town{}
	m := &machine{}
	m.take = func(after uint64) (left []Message, err error) {
		for _, x := range list {
			if x.Place > after {
				left = append(left, x)
			}
		}
		return left, nil
	}
	fails := 3
	m.delete = func(id string) error {
		c.did = append(c.did, "delete "+id)
		if fails--; fails >= 0 {
			return errors.New("cut")
		}
		list = slices.DeleteFunc(list, func(x Message) bool { return x.ID == id })
		if len(list) == 0 && id == "b" {
			list = []Message{{ID: "c", Place: 1}} // it lost its disk
		}
		return nil
	}
	c.apply = func(Message) error { return nil }
	log := reading(t, m, c, time.Hour)
	want := "apply a, delete a, apply a, delete a, apply a, delete a, apply a, delete a, forget a, " +
		"apply b, delete b, forget b, apply c, delete c, forget c"
	if got := strings.Join(c.did, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(log) != 1 || !strings.Contains(log[0], "outbox of far: delete message a: cut") {
		t.Errorf("log %q", log)
	}
	if m.asked > 40 {
		t.Errorf("it was asked %d times in an hour", m.asked)
	}
}

// An outbox that is lost again and again while it waits is tried again within seconds; one
// that is never reached, less and less often.
func TestLostOften(t *testing.T) {
	for _, c := range []struct {
		err         error
		least, most int
	}{{fmt.Errorf("%w: cut", ErrLost), 2000, 7200}, {errors.New("no route"), 80, 260}} {
		m := &machine{take: func(uint64) ([]Message, error) { return nil, c.err }}
		if reading(t, m, &town{}, time.Hour); m.asked < c.least || m.asked > c.most {
			t.Errorf("%v: asked %d times in an hour, want %d to %d", c.err, m.asked, c.least, c.most)
		}
	}
}

// What a machine sends out of order, or with an id that is none, is not applied; it costs
// a try in 15 to 45 seconds.
func TestNonsenseIsNotApplied(t *testing.T) {
	for _, list := range [][]Message{
		{{ID: "", Place: 1}}, {{ID: "../../x", Place: 1}}, {{ID: strings.Repeat("x", 65), Place: 1}}, {{ID: "zero"}},
	} {
		c := &town{apply: func(Message) error { return nil }}
		m := &machine{take: func(uint64) ([]Message, error) { return list, nil }, delete: func(string) error { return nil }}
		log := reading(t, m, c, time.Hour)
		if len(c.did) > 0 || len(log) != 1 || m.asked > 260 {
			t.Errorf("%.20q: did %q, log %q, asked %d times", list[0].ID, c.did, log, m.asked)
		}
	}
	c := &town{apply: func(Message) error { return nil }}
	m := &machine{delete: func(string) error { return nil }}
	m.take = func(uint64) ([]Message, error) { return []Message{{ID: "again", Place: 5}}, nil } // whatever is asked for
	if reading(t, m, c, time.Hour); len(c.did) > 2*260*2 {
		t.Errorf("it was applied %d times in an hour", len(c.did)/2)
	}
}

// A message that cannot be applied for a day is refused; those behind it follow.
func TestGivesUpAfterADay(t *testing.T) {
	list := []Message{{ID: "a", Place: 1}, {ID: "b", Place: 2}}
	c := &town{apply: func(m Message) error {
		if m.ID == "a" {
			return errors.New("no answer")
		}
		return nil
	}}
	m := &machine{take: func(uint64) ([]Message, error) { return list, nil }}
	m.delete = func(id string) error {
		list = slices.DeleteFunc(list, func(x Message) bool { return x.ID == id })
		return nil
	}
	reading(t, m, c, 23*time.Hour)
	if len(c.did) > 0 {
		t.Errorf("within a day: %q", c.did)
	}
	reading(t, m, c, 25*time.Hour)
	want := []string{"refuse a: not applied for 24h0m0s: no answer", "forget a", "apply b", "forget b"}
	if !slices.Equal(c.did, want) {
		t.Errorf("after a day: %q", c.did)
	}
}
