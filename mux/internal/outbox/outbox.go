package outbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// A list has at most so many messages, and bytes of bodies; it has one in any case.
const (
	maxList      = 256
	maxListBytes = 4 << 20
)

// The keys of the first three begin with the key of a city: see cityKey.
var (
	entries = store.NewBucket[api.OutboxEntry]("outbox")       // by city and place
	ids     = store.NewBucket[known]("outbox-ids")             // by city and id
	totals  = store.NewBucket[total]("outbox-cities")          // by city; only of cities with messages
	taken   = store.NewBucket[remembered]("outbox-forgetting") // by a number in the order of the taking
)

// known is what is kept of an id.
type known struct {
	Place   uint64    `json:"place"`
	Sum     []byte    `json:"sum"` // of the body
	Created time.Time `json:"created"`
	Ahead   int       `json:"ahead"`
	Taken   time.Time `json:"taken,omitzero"`
}

// total counts the messages of a city.
type total struct {
	Entries int `json:"entries"`
	Bytes   int `json:"bytes"`
}

// remembered is an id to forget.
type remembered struct {
	Key string    `json:"key"` // in ids
	At  time.Time `json:"at"`
}

// Outbox is the outbox of a server. It is safe for concurrent use after Open.
type Outbox struct {
	done  <-chan struct{}
	db    *store.DB
	clock *clock.Clock

	mu      sync.Mutex
	changed chan struct{} // closed at the next message; nil without a waiter
}

// New returns an outbox that is not open. done is closed when the server ends.
func New(done <-chan struct{}) *Outbox { return &Outbox{done: done} }

// Open gives the outbox its database. It is called once, before any other method.
func (o *Outbox) Open(db *store.DB, c *clock.Clock) { o.db, o.clock = db, c }

// Post writes a message durably. A message with an id that the city's outbox knows is the
// same message: Post returns what it returned then. ErrReused if it has another body,
// ErrOutbox if the outbox is full, ErrRequest, ErrTooLarge.
func (o *Outbox) Post(r api.OutboxRequest) (e api.OutboxEntry, err error) {
	if err := check(&r); err != nil {
		return e, err
	}
	city, sum := cityKey(r.City), sha256.Sum256(r.Body)
	err = o.db.Batch(func(tx *store.Tx) error {
		e = api.OutboxEntry{OutboxRequest: r, Created: o.clock.Wall(o.clock.Now())}
		k, old, err := ids.Get(tx, city+r.ID)
		switch {
		case err != nil:
			return err
		case old && !bytes.Equal(k.Sum, sum[:]):
			return fmt.Errorf("%w: %s", api.ErrReused, r.ID)
		case old:
			e.Place, e.Created, e.Ahead, e.Taken = k.Place, k.Created, k.Ahead, k.Taken
			return nil
		}
		if e.Ahead, err = count(tx, city, len(r.Body)); err != nil {
			return err
		}
		if e.Place, err = entries.NextSequence(tx); err != nil {
			return err
		}
		if err := entries.Put(tx, placeKey(city, e.Place), e); err != nil {
			return err
		}
		return ids.Put(tx, city+r.ID, known{Place: e.Place, Sum: sum[:], Created: e.Created, Ahead: e.Ahead})
	})
	if err != nil {
		return api.OutboxEntry{}, err
	}
	o.notify()
	return e, nil
}

// check returns why a message cannot be kept, and makes its body compact.
func check(r *api.OutboxRequest) error {
	if err := checkCity(r.City); err != nil {
		return err
	}
	if err := checkID(r.ID); err != nil {
		return err
	}
	var body bytes.Buffer
	if err := json.Compact(&body, r.Body); err != nil || len(r.Body) == 0 {
		return fmt.Errorf("%w: the message has no JSON body", api.ErrRequest)
	}
	if r.Body = body.Bytes(); len(r.Body) > api.MaxOutboxBody {
		return fmt.Errorf("%w: a message of %d bytes, at most %d", api.ErrTooLarge, len(r.Body), api.MaxOutboxBody)
	}
	return nil
}

func checkCity(city string) error {
	if city == "" || len(city) > api.MaxOutboxCity || !utf8.ValidString(city) {
		return fmt.Errorf("%w: a city's id must have 1 to %d bytes of UTF-8", api.ErrRequest, api.MaxOutboxCity)
	}
	return nil
}

func checkID(id string) error {
	if id == "" || len(id) > api.MaxOutboxID {
		return fmt.Errorf("%w: a message's id must have 1 to %d bytes", api.ErrRequest, api.MaxOutboxID)
	}
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return fmt.Errorf("%w: a message's id holds %q; letters, digits, '_' and '-' are allowed", api.ErrRequest, c)
		}
	}
	return nil
}

// count adds a message to its city's total, and returns how many were there before.
func count(tx *store.Tx, city string, size int) (ahead int, err error) {
	t, known, err := totals.Get(tx, city)
	switch {
	case err != nil:
		return 0, err
	case !known && totals.Len(tx, "") >= api.MaxOutboxCities:
		return 0, fmt.Errorf("%w: it has messages for %d cities, at most %[2]d", api.ErrOutbox, api.MaxOutboxCities)
	case t.Entries >= api.MaxOutboxEntries:
		return 0, fmt.Errorf("%w: %d messages are waiting for the city, at most %[2]d", api.ErrOutbox, t.Entries)
	case t.Bytes+size > api.MaxOutboxBytes:
		return 0, fmt.Errorf("%w: %d bytes are waiting for the city, at most %d", api.ErrOutbox, t.Bytes, api.MaxOutboxBytes)
	}
	return t.Entries, totals.Put(tx, city, total{t.Entries + 1, t.Bytes + size})
}

// Remove removes a message that its city took. Removing one that is not there does nothing.
func (o *Outbox) Remove(city, id string) error {
	if err := checkCity(city); err != nil {
		return err
	}
	if err := checkID(id); err != nil {
		return err
	}
	return o.db.Batch(func(tx *store.Tx) error { return o.remove(tx, cityKey(city), id) })
}

func (o *Outbox) remove(tx *store.Tx, city, id string) error {
	k, found, err := ids.Get(tx, city+id)
	if err != nil || !found || !k.Taken.IsZero() {
		return err
	}
	e, _, err := entries.Get(tx, placeKey(city, k.Place))
	if err != nil {
		return err
	}
	t, _, err := totals.Get(tx, city)
	if err != nil {
		return err
	}
	if t = (total{t.Entries - 1, t.Bytes - len(e.Body)}); t.Entries > 0 {
		err = totals.Put(tx, city, t)
	} else {
		err = totals.Delete(tx, city)
	}
	if err != nil {
		return err
	}
	if err := entries.Delete(tx, placeKey(city, k.Place)); err != nil {
		return err
	}
	now := o.clock.Now()
	k.Taken = o.clock.Wall(now)
	if err := ids.Put(tx, city+id, k); err != nil {
		return err
	}
	n, err := taken.NextSequence(tx)
	if err != nil {
		return err
	}
	if err := taken.Put(tx, fmt.Sprintf("%020d", n), remembered{city + id, now}); err != nil {
		return err
	}
	return forget(tx, now)
}

// forget drops the ids of messages that were taken long ago.
func forget(tx *store.Tx, now time.Time) error {
	var old []string
	for key, r := range taken.All(tx, "") {
		if now.Sub(r.At) <= api.OutboxMemory {
			break
		}
		old = append(old, key)
		if err := ids.Delete(tx, r.Key); err != nil {
			return err
		}
	}
	for _, key := range old {
		if err := taken.Delete(tx, key); err != nil {
			return err
		}
	}
	return nil
}

// List returns messages of a city after a place, in order; the first that fit into a
// reply. Without a city it returns those of all. If there is none it waits for one, for at most limit.
func (o *Outbox) List(ctx context.Context, city string, after uint64, limit time.Duration) ([]api.OutboxEntry, error) {
	prefix := ""
	if city != "" {
		if err := checkCity(city); err != nil {
			return nil, err
		}
		prefix = cityKey(city)
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		changed := o.wakeup() // before the look
		list, err := o.list(prefix, after)
		if err != nil || len(list) > 0 || limit <= 0 {
			return list, err
		}
		select {
		case <-changed:
		case <-late.C:
			return list, nil
		case <-o.done:
			return list, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (o *Outbox) list(prefix string, after uint64) ([]api.OutboxEntry, error) {
	list, size := []api.OutboxEntry{}, 0
	err := o.db.View(func(tx *store.Tx) error {
		for _, e := range entries.All(tx, prefix) {
			if e.Place <= after {
				continue
			}
			if size += len(e.Body); len(list) > 0 && size > maxListBytes {
				break
			}
			if list = append(list, e); len(list) == maxList {
				break
			}
		}
		return nil
	})
	return list, err
}

// Empty reports whether no message is waiting. It is false if that cannot be told.
func (o *Outbox) Empty() bool {
	n := 0
	err := o.db.View(func(tx *store.Tx) error { n = totals.Len(tx, ""); return nil })
	return err == nil && n == 0
}

// wakeup returns the channel that is closed at the next message.
func (o *Outbox) wakeup() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.changed
}

func (o *Outbox) notify() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// cityKey is the prefix of a city's keys. It has the same length for all.
func cityKey(city string) string {
	sum := sha256.Sum256([]byte(city))
	return hex.EncodeToString(sum[:16]) + "/"
}

// placeKey sorts by place within a city.
func placeKey(city string, place uint64) string { return fmt.Sprintf("%s%020d", city, place) }
