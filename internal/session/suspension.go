package session

import (
	"fmt"
	"time"

	"gascity.dev/gc/store"
)

// Suspension means that a person suspended a rig, a pool or the whole city until
// it is resumed, over any gc stop and gc start.
type Suspension struct {
	Since time.Time `json:"since"`
}

// SuspendedCity is the key of the whole city.
const SuspendedCity = "city"

// SuspendedRig is the key of a rig, SuspendedPool that of a pool.
func SuspendedRig(name string) string  { return "rig/" + name }
func SuspendedPool(name string) string { return "pool/" + name }

var suspensions = store.NewBucket[Suspension]("pauses")

// SaveSuspension queues it to be written.
func (b *Store) SaveSuspension(key string, p Suspension) *Commit {
	return b.put("pause "+key, func(tx *store.Tx) error { return suspensions.Put(tx, key, p) })
}

// DeleteSuspension queues its removal.
func (b *Store) DeleteSuspension(key string) *Commit {
	return b.put("pause "+key, func(tx *store.Tx) error { return suspensions.Delete(tx, key) })
}

// Suspensions returns the suspensions by key.
func (b *Store) Suspensions() (map[string]Suspension, error) {
	all := map[string]Suspension{}
	err := b.db.View(func(tx *store.Tx) error {
		return suspensions.Each(tx, "", func(key string, p Suspension) error {
			all[key] = p
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the suspensions: %w", err)
	}
	return all, nil
}
