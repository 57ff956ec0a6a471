package muxdb

import (
	"time"

	"gascity.dev/gc/store"
)

// kills maps a session's id to the end of the grace of its unfinished kill.
var kills = store.NewBucket[time.Time]("kills")

// LeaveKill leaves the rest of a kill to the next server.
func LeaveKill(db *store.DB, id string, deadline time.Time) error {
	return db.Batch(func(tx *store.Tx) error { return kills.Put(tx, id, deadline) })
}

// TakeKills takes the kills that the last server left: the end of each one's grace.
func TakeKills(db *store.DB) (map[string]time.Time, error) {
	left := make(map[string]time.Time)
	err := db.View(func(tx *store.Tx) error {
		for id, deadline := range kills.All(tx, "") {
			left[id] = deadline
		}
		return nil
	})
	if err == nil && len(left) > 0 {
		err = db.Update(func(tx *store.Tx) error { return kills.Clear(tx) })
	}
	return left, err
}
