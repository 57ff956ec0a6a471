package muxdb

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// schema of mux.db. Version 1 has the bucket of metadata.
var schema = store.Schema{Name: "mux", Version: 1}

// asideMark is in the names of damaged databases that were set aside.
const asideMark = ".corrupt-"

// Damaged lists the databases that were set aside and not yet removed.
func Damaged(p api.Paths) []string {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(p.Db())+asideMark) {
			out = append(out, filepath.Join(p.Dir, e.Name()))
		}
	}
	return out
}

// Open opens mux.db. A damaged file is set aside, never removed: sessions without
// metadata are better than no sessions.
func Open(path string) (*store.DB, error) {
	db, err := store.Open(path, schema)
	if errors.Is(err, store.ErrCorrupt) {
		aside := fmt.Sprintf("%s%s%d", path, asideMark, time.Now().Unix())
		slog.Error("the database is damaged and set aside", "error", err, "file", aside)
		if err := os.Rename(path, aside); err != nil {
			return nil, fmt.Errorf("%w: %w", api.ErrStateDir, err)
		}
		db, err = store.Open(path, schema)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrStateDir, err)
	}
	return db, nil
}

// clockBucket holds the position of the monotonic clock.
var clockBucket = store.NewBucket[clock.Anchor]("clock")

const clockKey = "server"

// ResumeClock continues the clock of the last server. If the disk is full, the next
// server only resumes from an older position.
func ResumeClock(db *store.DB) *clock.Clock {
	var a clock.Anchor
	err := db.View(func(tx *store.Tx) (err error) {
		a, _, err = clockBucket.Get(tx, clockKey)
		return err
	})
	c := clock.Resume(a)
	if err == nil {
		err = SaveClock(db, c.Anchor())
	}
	if err != nil {
		slog.Warn("cannot save the clock", "error", err)
	}
	return c
}

// SaveClock writes the position of the clock.
func SaveClock(db *store.DB, a clock.Anchor) error {
	return db.Update(func(tx *store.Tx) error { return clockBucket.Put(tx, clockKey, a) })
}
