package session

import (
	"fmt"
	"time"

	"gascity.dev/gc/store"
)

// Pause is something bigger than an agent that a person took out of the city,
// until it is resumed: over any gc stop and gc start.
type Pause struct {
	Since time.Time `json:"since"`
}

// PauseCity is the key of the whole city's pause.
const PauseCity = "city"

// PauseRig is the key of a rig's pause, PausePool of a pool's.
func PauseRig(name string) string  { return "rig/" + name }
func PausePool(name string) string { return "pool/" + name }

var pauses = store.NewBucket[Pause]("pauses")

// SavePause writes it, soon.
func (b *Book) SavePause(key string, p Pause) *Ticket {
	return b.put("pause "+key, func(tx *store.Tx) error { return pauses.Put(tx, key, p) })
}

// DeletePause ends it.
func (b *Book) DeletePause(key string) *Ticket {
	return b.put("pause "+key, func(tx *store.Tx) error { return pauses.Delete(tx, key) })
}

// Pauses returns all of them by key.
func (b *Book) Pauses() (map[string]Pause, error) {
	all := map[string]Pause{}
	err := b.db.View(func(tx *store.Tx) error {
		return pauses.Each(tx, "", func(key string, p Pause) error {
			all[key] = p
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the pauses: %w", err)
	}
	return all, nil
}
