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

// run is one gc start; it lasts until gc stop, over any number of controllers.
type run struct {
	ID    string    `json:"id"`
	Began time.Time `json:"began"`
	Boot  string    `json:"boot,omitempty"` // of the machine, where it tells
}

const runKey = "current"

// clocks holds where the city's even clock stands.
var clocks = store.NewBucket[clock.Anchor]("clock")

const clockKey = "city"

// Errors of Open, of package store.
var (
	ErrLocked  = store.ErrLocked
	ErrCorrupt = store.ErrCorrupt
	ErrNewer   = store.ErrNewer
)

// Book is a city's database. It is safe for concurrent use. Saves are grouped:
// all that come while the disk is busy are written together.
type Store struct {
	db     *store.DB
	update func(func(*store.Tx) error) error // the database's
	clock  *clock.Clock
	wake   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	pending []write // in order
	events  []Event // not written yet
	failed  error   // why the last write failed; nil: it did not
	seq     uint64  // of the newest event
	ids     uint64  // of the newest nudge or wait
	commit  *Commit // of the group that collects
	held    bool    // by Hold
	waiting bool    // to be written when it no longer is
	closed  bool
}

// write is one change of the database. A newer one of the same key replaces
// it, where it has one.
type write struct {
	key string
	do  func(*store.Tx) error
}

// Ticket tells when what was saved is on disk.
type Commit struct {
	done chan struct{}
	err  error
}

// Wait returns when it is, or failed to be.
func (t *Commit) Wait() error {
	<-t.done
	return t.err
}

// errClosed is what a save after Close gets.
var errClosed = errors.New("the city's database is closed")

// Open opens the database at path, and makes it when there is none. A file that
// is damaged, of a newer program, or held by another process is an error of
// package store and is left as it is.
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

// Now is the time by the city's even clock, which goes on over restarts and
// changes of the system's clock. Times of nudges are of it.
func (b *Store) Now() time.Time { return b.clock.Now() }

// Wall is a time of the even clock as the system's would show it, for people.
func (b *Store) Wall(t time.Time) time.Time { return b.clock.Wall(t) }

// Close writes what is pending and closes the file. What the disk does not take
// is lost, and is the error.
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

// Run returns the id of the current run. One that was not ended by EndRun goes
// on, unless the machine was booted since; fresh reports whether a new one began.
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

// CurrentRun returns the id of the run that goes on, if one does.
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

// Records returns every record by agent.
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

// Save writes the record of its agent, soon.
func (b *Store) Save(r Record) *Commit {
	r.Restarts = append([]time.Time(nil), r.Restarts...) // the caller goes on with its own
	return b.put("record "+r.Agent, func(tx *store.Tx) error { return records.Put(tx, r.Agent, r) })
}

// put queues a write. Writes are carried out in the order they came.
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

// nextID makes an id that sorts after all earlier ones, also those of earlier
// controllers.
func (b *Store) nextID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids++
	id := b.ids
	b.putLocked(write{"last id", func(tx *store.Tx) error { return counters.Put(tx, lastID, id) }})
	return eventKey(id)
}

// Hold keeps back what is put from now on until Release, so that it is written
// together. Whoever holds does not wait for a ticket.
func (b *Store) Hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = true
}

// Release writes, soon, what Hold kept back.
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

// writer writes group after group until the book is closed.
func (b *Store) writer() {
	defer close(b.done)
	for range b.wake {
		b.flush()
	}
	b.flush()
}

// retryWrite is how long a disk that fails is left alone.
const retryWrite = time.Second

// flush writes what is pending. What the disk does not take is kept and tried
// again, the newest of each key: nothing that was put is lost but by the end of
// the program.
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

// Err is why the newest changes are not on disk, nil when they are or were not
// tried yet.
func (b *Store) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// newest drops writes that a later one of their key replaces.
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
