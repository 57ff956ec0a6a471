package cities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/mux/api"
)

// town listens as a city and answers each request with its name and the request.
func town(ctx context.Context, r *Relay, city, name string) {
	_ = r.Listen(ctx, city, ready, func(q api.CityAsked) error {
		return r.Answer(q.ID, json.RawMessage(fmt.Sprintf("%q", name+" "+string(q.Body))))
	})
}

func ask(t *testing.T, r *Relay, city, body string) (string, error) {
	t.Helper()
	a, err := r.Ask(t.Context(), api.CityRequest{City: city, Body: json.RawMessage(body)})
	return string(a), err
}

func want(t *testing.T, r *Relay, city, body, answer string) {
	t.Helper()
	if got, err := ask(t, r, city, body); got != answer || err != nil {
		t.Errorf("%s of %s: %q, %v", body, city, got, err)
	}
}

// Each city answers its own requests, while it listens; a controller that replaces another
// one answers from then on.
func TestRequestsReachTheirCity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(make(chan struct{}))
		if _, err := ask(t, r, "/a@1", "1"); !errors.Is(err, api.ErrCityAway) {
			t.Errorf("before it listens: %v", err)
		}
		old, leave := context.WithCancel(t.Context())
		ctx, stop := context.WithCancel(t.Context())
		go town(old, r, "/a@1", "old")
		go town(ctx, r, "/b@2", "other")
		synctest.Wait()
		want(t, r, "/a@1", "1", `"old 1"`)
		want(t, r, "/b@2", "2", `"other 2"`)
		go town(ctx, r, "/a@1", "new")
		synctest.Wait()
		want(t, r, "/a@1", "3", `"new 3"`)
		leave()
		synctest.Wait()
		want(t, r, "/a@1", "4", `"new 4"`)
		stop()
		synctest.Wait()
		if _, err := ask(t, r, "/a@1", "5"); !errors.Is(err, api.ErrCityAway) {
			t.Errorf("after it left: %v", err)
		}
		if len(r.cities) > 0 || len(r.waiting) > 0 {
			t.Errorf("left: %v, %v", r.cities, r.waiting)
		}
	})
}

// An asker never waits for long: not for a city that is lost, nor for one that does not
// answer or does not read, nor for a server that ends.
func TestAskersDoNotWaitForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		r := New(done)
		ctx, lose := context.WithCancel(t.Context())
		go func() { _ = r.Listen(ctx, "c", ready, func(api.CityAsked) error { return nil }) }()
		synctest.Wait()
		begin := time.Now()
		if _, err := ask(t, r, "c", "1"); !errors.Is(err, api.ErrNoAnswer) || time.Since(begin) != api.CityAnswerTime {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		time.AfterFunc(time.Second, lose)
		begin = time.Now()
		if _, err := ask(t, r, "c", "2"); !errors.Is(err, api.ErrCityAway) || time.Since(begin) != time.Second {
			t.Errorf("lost after %v: %v", time.Since(begin), err)
		}

		ctx, lose = context.WithCancel(t.Context())
		hang := make(chan struct{})
		go func() { _ = r.Listen(ctx, "c", ready, func(api.CityAsked) error { <-hang; return nil }) }()
		synctest.Wait()
		errs := make(chan error, 3*api.MaxCityRequests)
		for range cap(errs) {
			go func() { _, err := ask(t, r, "c", "3"); errs <- err }()
		}
		begin, atOnce := time.Now(), 0
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, api.ErrNoAnswer) {
				t.Error(err)
			}
			if time.Since(begin) == 0 {
				atOnce++
			}
		}
		if atOnce != 2*api.MaxCityRequests {
			t.Errorf("a city that does not read: %d requests failed at once", atOnce)
		}
		if _, err := ask(t, r, "c", "4"); !errors.Is(err, api.ErrNoAnswer) {
			t.Errorf("with requests that nobody waits for: %v", err)
		}
		close(hang)
		lose()
		synctest.Wait()

		go func() { _ = r.Listen(t.Context(), "c", ready, func(api.CityAsked) error { return nil }) }()
		synctest.Wait()
		time.AfterFunc(time.Second, func() { close(done) })
		if _, err := ask(t, r, "c", "5"); !errors.Is(err, api.ErrLeaving) && !errors.Is(err, api.ErrCityAway) {
			t.Errorf("a server that ends: %v", err)
		}
	})
}

func TestBadRequests(t *testing.T) {
	r := New(make(chan struct{}))
	for _, c := range []struct {
		city, body string
		want       error
	}{
		{"", "1", api.ErrRequest}, {"c", "", api.ErrRequest}, {"\xff", "1", api.ErrRequest},
		{strings.Repeat("c", api.MaxOutboxCity+1), "1", api.ErrRequest},
		{"c", strings.Repeat("1", api.MaxCityRequest+1), api.ErrTooLarge},
	} {
		if _, err := ask(t, r, c.city, c.body); !errors.Is(err, c.want) {
			t.Errorf("%.10q %.10q: %v", c.city, c.body, err)
		}
	}
	if err := r.Answer("none", json.RawMessage("1")); err != nil {
		t.Errorf("an answer that nobody waits for: %v", err)
	}
	for body, want := range map[string]error{"": api.ErrRequest, strings.Repeat("1", api.MaxCityAnswer+1): api.ErrTooLarge} {
		if err := r.Answer("none", json.RawMessage(body)); !errors.Is(err, want) {
			t.Errorf("%.10q: %v", body, err)
		}
	}
}

func ready() error { return nil }
