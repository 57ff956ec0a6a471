package cities

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/mux/api"
)

// Relay is the relay of a server. It is safe for concurrent use.
type Relay struct {
	done <-chan struct{}

	mu      sync.Mutex
	cities  map[string][]*listener          // by id; the newest is last
	waiting map[string]chan json.RawMessage // askers, by the id of their request
}

// listener is a city that listens.
type listener struct {
	asked chan api.CityAsked
	open  int           // requests that are not answered yet; guarded by Relay.mu
	gone  chan struct{} // closed when it does not listen any more
}

// New returns a relay. done is closed when the server ends.
func New(done <-chan struct{}) *Relay {
	return &Relay{done: done, cities: map[string][]*listener{}, waiting: map[string]chan json.RawMessage{}}
}

// Ask passes a request to its city and returns the answer. ErrCityAway if the city does not
// listen or is lost. ErrNoAnswer if it is slow or too many requests wait for it: at once then.
// ErrTooLarge, ErrRequest.
func (r *Relay) Ask(ctx context.Context, q api.CityRequest) (json.RawMessage, error) {
	if err := checkCity(q.City); err != nil {
		return nil, err
	}
	switch {
	case len(q.Body) == 0:
		return nil, fmt.Errorf("%w: the request has no JSON body", api.ErrRequest)
	case len(q.Body) > api.MaxCityRequest:
		return nil, fmt.Errorf("%w: a request of %d bytes, at most %d", api.ErrTooLarge, len(q.Body), api.MaxCityRequest)
	}
	id := rand.Text()
	l, answer, err := r.begin(q.City, id)
	if err != nil {
		return nil, err
	}
	defer r.end(l, id)
	select {
	case l.asked <- api.CityAsked{ID: id, Body: q.Body}:
	default: // the city does not read
		return nil, fmt.Errorf("%w: it does not read", api.ErrNoAnswer)
	}
	late := time.NewTimer(api.CityAnswerTime)
	defer late.Stop()
	select {
	case a := <-answer:
		return a, nil
	case <-l.gone:
		select {
		case a := <-answer: // just before
			return a, nil
		default:
		}
		return nil, fmt.Errorf("%w any more: it was lost before it answered", api.ErrCityAway)
	case <-late.C:
		return nil, fmt.Errorf("%w (%v)", api.ErrNoAnswer, api.CityAnswerTime)
	case <-r.done:
		return nil, api.ErrLeaving
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin registers a request at the newest listener of a city.
func (r *Relay) begin(city, id string) (*listener, <-chan json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.cities[city]
	if len(list) == 0 {
		return nil, nil, api.ErrCityAway
	}
	l := list[len(list)-1]
	if l.open >= api.MaxCityRequests {
		return nil, nil, fmt.Errorf("%w: %d requests wait for it", api.ErrNoAnswer, l.open)
	}
	l.open++
	answer := make(chan json.RawMessage, 1)
	r.waiting[id] = answer
	return l, answer, nil
}

func (r *Relay) end(l *listener, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.open--
	delete(r.waiting, id)
}

// Answer answers a request. It does nothing if the asker does not wait any more.
func (r *Relay) Answer(id string, body json.RawMessage) error {
	switch {
	case len(body) == 0:
		return fmt.Errorf("%w: the answer has no JSON body", api.ErrRequest)
	case len(body) > api.MaxCityAnswer:
		return fmt.Errorf("%w: an answer of %d bytes, at most %d", api.ErrTooLarge, len(body), api.MaxCityAnswer)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer, ok := r.waiting[id]; ok {
		answer <- body // has room for one
		delete(r.waiting, id)
	}
	return nil
}

// Listen calls ready once the city can be asked, and then passes the requests to it to
// pass, one after the other, until ctx or the server ends, or one of the two fails.
func (r *Relay) Listen(ctx context.Context, city string, ready func() error, pass func(api.CityAsked) error) error {
	// An asker that gave up still has its request in the channel.
	l := &listener{asked: make(chan api.CityAsked, api.MaxCityRequests), gone: make(chan struct{})}
	r.mu.Lock()
	r.cities[city] = append(r.cities[city], l)
	r.mu.Unlock()
	defer r.leave(city, l)
	if err := ready(); err != nil {
		return err
	}
	for {
		select {
		case q := <-l.asked:
			if err := pass(q); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-r.done:
			return nil
		}
	}
}

func (r *Relay) leave(city string, l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(l.gone)
	left := slices.DeleteFunc(r.cities[city], func(other *listener) bool { return other == l })
	if r.cities[city] = left; len(left) == 0 {
		delete(r.cities, city)
	}
}

func checkCity(city string) error {
	if city == "" || len(city) > api.MaxOutboxCity || !utf8.ValidString(city) {
		return fmt.Errorf("%w: a city's id must have 1 to %d bytes of UTF-8", api.ErrRequest, api.MaxOutboxCity)
	}
	return nil
}
