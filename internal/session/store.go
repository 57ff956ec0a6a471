package session

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/store"
)

// schema of city.db. Version 1: records, the run.
var schema = store.Schema{Name: "city", Version: 1}

var (
	records = store.NewBucket[Record]("records")
	runs    = store.NewBucket[run]("run")
)

// run is one gc start. It lasts until gc stop, over any number of controllers.
type run struct {
	ID    string    `json:"id"`
	Began time.Time `json:"began"`
	Boot  string    `json:"boot,omitempty"` // of the machine; "" if unknown
}

const runKey = "current"

// clocks holds the reading of the city's monotonic clock.
var clocks = store.NewBucket[clock.Anchor]("clock")

const clockKey = "city"

// Errors of Open, from package store.
var (
	ErrLocked  = store.ErrLocked
	ErrCorrupt = store.ErrCorrupt
	ErrNewer   = store.ErrNewer
)

// Store is a city's database. It is safe for concurrent use. Changes are
// grouped: those that arrive while the disk is busy are written together.
type Store struct {
	db     *store.DB
	update func(func(*store.Tx) error) error // the database's
	clock  *clock.Clock
	wake   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	pending []write // in order
	events  []Event // not written yet
	failed  error   // why the last write failed; nil if it succeeded
	seq     uint64  // of the newest event
	ids     uint64  // of the newest nudge or wait
	commit  *Commit // of the group that is collecting
	held    bool    // by Hold
	waiting bool    // something waits for Release
	closed  bool
}

// write is one change of the database. A later one with the same key replaces
// it, unless the key is "".
type write struct {
	key string
	do  func(*store.Tx) error
}

// Commit is a group of changes on its way to the disk.
type Commit struct {
	done chan struct{}
	err  error
}

// Wait returns when the group is on disk, or could not be written.
func (t *Commit) Wait() error {
	<-t.done
	return t.err
}

// errClosed is the error of a save after Close.
var errClosed = errors.New("the city's database is closed")

// Open opens the database at path, or creates it. A file that is damaged,
// written by a newer program, or open in another process is an error of package
// store and is left as it is.
func Open(path string) (*Store, error) {
	db, err := store.Open(path, schema)
	if err != nil {
		return nil, err
	}
	b := &Store{db: db, update: db.Update, wake: make(chan struct{}, 1), done: make(chan struct{})}
	var mark clock.Anchor
	b.commit = &Commit{done: make(chan struct{})}
	err = db.View(func(tx *store.Tx) (err error) {
		if b.seq, err = lastSeq(tx); err == nil {
			b.ids, _, err = counters.Get(tx, lastID)
		}
		if err == nil {
			mark, _, err = clocks.Get(tx, clockKey)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	b.clock = clock.Resume(mark)
	b.put("clock", func(tx *store.Tx) error { return clocks.Put(tx, clockKey, b.clock.Anchor()) })
	go b.writer()
	return b, nil
}

// Now is the time by the city's monotonic clock, which continues over restarts
// and changes of the system's clock. The times of nudges are from it.
func (b *Store) Now() time.Time { return b.clock.Now() }

// Wall converts a time of the monotonic clock to the system's, for people.
func (b *Store) Wall(t time.Time) time.Time { return b.clock.Wall(t) }

// Close writes what is pending and closes the file. The error says what could
// not be written and is lost.
func (b *Store) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	close(b.wake)
	<-b.done
	return errors.Join(b.Err(), b.db.Close())
}

// Run returns the id of the current run. It continues unless EndRun ended it or
// the machine was rebooted; fresh reports whether a new one began.
func (b *Store) Run() (id string, fresh bool, err error) {
	err = b.db.Update(func(tx *store.Tx) error {
		r, ok, err := runs.Get(tx, runKey)
		if err != nil {
			return err
		}
		boot := clock.Boot()
		if !ok || r.Boot != "" && boot != "" && r.Boot != boot {
			fresh = true
			r = run{ID: newID(), Began: time.Now().UTC(), Boot: boot}
			err = runs.Put(tx, runKey, r)
		}
		id = r.ID
		return err
	})
	return id, fresh, err
}

// CurrentRun returns the id of the current run, if there is one.
func (b *Store) CurrentRun() (id string, ok bool, err error) {
	err = b.db.View(func(tx *store.Tx) error {
		r, found, err := runs.Get(tx, runKey)
		id, ok = r.ID, found
		return err
	})
	return id, ok, err
}

// EndRun ends the current run: the next Run begins a new one.
func (b *Store) EndRun() error {
	return b.db.Update(func(tx *store.Tx) error { return runs.Delete(tx, runKey) })
}

func newID() string {
	var id [8]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// Records returns the records by agent.
func (b *Store) Records() (map[string]Record, error) {
	all := map[string]Record{}
	err := b.db.View(func(tx *store.Tx) error {
		return records.Each(tx, "", func(key string, r Record) error {
			all[key] = r
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the records: %w", err)
	}
	return all, nil
}

// Save queues the agent's record to be written.
func (b *Store) Save(r Record) *Commit {
	r.Restarts = append([]time.Time(nil), r.Restarts...) // the caller keeps changing its own
	return b.put("record "+r.Agent, func(tx *store.Tx) error { return records.Put(tx, r.Agent, r) })
}

// put queues a write. Writes are carried out in order.
func (b *Store) put(key string, do func(*store.Tx) error) *Commit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.putLocked(write{key, do})
}

func (b *Store) putLocked(w write) *Commit {
	if b.closed {
		t := &Commit{done: make(chan struct{}), err: errClosed}
		close(t.done)
		return t
	}
	b.pending = append(b.pending, w)
	b.wakeLocked()
	return b.commit
}

// nextID makes an id that sorts after all earlier ones, including those of
// earlier controllers.
func (b *Store) nextID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids++
	id := b.ids
	b.putLocked(write{"last id", func(tx *store.Tx) error { return counters.Put(tx, lastID, id) }})
	return eventKey(id)
}

// Hold delays writes until Release, so that they become one. The holder must not
// wait for a Commit.
func (b *Store) Hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = true
}

// Release writes what Hold delayed.
func (b *Store) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = false
	if b.waiting && !b.closed {
		b.waiting = false
		b.wakeLocked()
	}
}

func (b *Store) wakeLocked() {
	if b.held {
		b.waiting = true
		return
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// writer writes group after group until the store is closed.
func (b *Store) writer() {
	defer close(b.done)
	for range b.wake {
		b.flush()
	}
	b.flush()
}

// retryWrite is the pause after a failed write.
const retryWrite = time.Second

// flush writes the pending records. If that fails it keeps the newest of each
// key and retries: they are lost only if the program ends.
func (b *Store) flush() {
	b.mu.Lock()
	group, t, list := b.pending, b.commit, b.events
	b.pending, b.commit = nil, &Commit{done: make(chan struct{})}
	b.mu.Unlock()
	if len(group) > 0 || len(list) > 0 {
		t.err = b.write(group, list)
	}
	b.mu.Lock()
	if b.failed = t.err; t.err == nil {
		b.events = b.events[len(list):] // kept until now, for Events
	} else {
		b.pending = newest(append(group, b.pending...))
		b.events = b.events[max(0, len(b.events)-keepEvents):]
		time.AfterFunc(retryWrite, b.retry)
	}
	b.mu.Unlock()
	close(t.done)
}

func (b *Store) retry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.wakeLocked()
	}
}

// Err is why the newest changes are not on disk; nil if they are, or were not
// tried yet.
func (b *Store) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// newest drops writes that a later one with their key replaces.
func newest(list []write) []write {
	last := make(map[string]int, len(list))
	for i, w := range list {
		last[w.key] = i
	}
	kept := list[:0]
	for i, w := range list {
		if w.key == "" || last[w.key] == i {
			kept = append(kept, w)
		}
	}
	return kept
}

func (b *Store) write(group []write, list []Event) error {
	err := b.update(func(tx *store.Tx) error {
		for _, w := range group {
			if err := w.do(tx); err != nil {
				return err
			}
		}
		return writeEvents(tx, list)
	})
	if err != nil {
		return fmt.Errorf("save %d records and %d events: %w", len(group), len(list), err)
	}
	return nil
}
