package session

import (
	"fmt"
	"time"

	"gascity.dev/gc/store"
)

// told is when a person was told of an occasion, by its id. It is one record: it is small,
// and replaced as a whole.
var told = store.NewBucket[map[string]time.Time]("told")

const toldKey = "told"

// SaveTold queues the occasions that a person was told of.
func (b *Store) SaveTold(all map[string]time.Time) *Commit {
	return b.put("told", func(tx *store.Tx) error { return told.Put(tx, toldKey, all) })
}

// Told returns the occasions that a person was told of.
func (b *Store) Told() (map[string]time.Time, error) {
	all := map[string]time.Time{}
	err := b.db.View(func(tx *store.Tx) error {
		return told.Each(tx, toldKey, func(_ string, saved map[string]time.Time) error {
			all = saved
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read what was told: %w", err)
	}
	return all, nil
}
