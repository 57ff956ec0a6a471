package session

import (
	"fmt"
	"time"

	"gascity.dev/gc/store"
)

// Pause is something bigger than an agent that a person took out of the city,
// until it is resumed: over any gc stop and gc start.
type Suspension struct {
	Since time.Time `json:"since"`
}

// PauseCity is the key of the whole city's pause.
const SuspendedCity = "city"

// PauseRig is the key of a rig's pause, PausePool of a pool's.
func SuspendedRig(name string) string  { return "rig/" + name }
func SuspendedPool(name string) string { return "pool/" + name }

var suspensions = store.NewBucket[Suspension]("pauses")

// SavePause writes it, soon.
func (b *Store) SaveSuspension(key string, p Suspension) *Commit {
	return b.put("pause "+key, func(tx *store.Tx) error { return suspensions.Put(tx, key, p) })
}

// DeletePause ends it.
func (b *Store) DeleteSuspension(key string) *Commit {
	return b.put("pause "+key, func(tx *store.Tx) error { return suspensions.Delete(tx, key) })
}

// Pauses returns all of them by key.
func (b *Store) Suspensions() (map[string]Suspension, error) {
	all := map[string]Suspension{}
	err := b.db.View(func(tx *store.Tx) error {
		return suspensions.Each(tx, "", func(key string, p Suspension) error {
			all[key] = p
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the pauses: %w", err)
	}
	return all, nil
}
