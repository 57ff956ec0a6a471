package server

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// schema of mux.db. Version 1: the bucket of metadata.
var schema = store.Schema{Name: "mux", Version: 1}

// metaBucket holds the metadata: session id, NUL, key. Nothing else has to be
// durable: what a session is lives with the keeper, as long as the session.
var metaBucket = store.NewBucket[[]byte]("meta")

const (
	maxMetaKey   = 1024
	maxMetaValue = 1 << 20
	maxMetaKeys  = 1024
)

// asideMark is in the name of a database that was put aside.
const asideMark = ".corrupt-"

// damaged lists the databases that were put aside and not removed since.
func damaged(p api.Paths) []string {
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

// openState opens mux.db. A file that cannot be read is put aside, never
// removed: sessions without metadata are better than no sessions.
func openState(path string) (*store.DB, error) {
	db, err := store.Open(path, schema)
	if errors.Is(err, store.ErrCorrupt) {
		aside := fmt.Sprintf("%s%s%d", path, asideMark, time.Now().Unix())
		slog.Error("the database is damaged and put aside", "error", err, "file", aside)
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

// clockBucket holds where the even clock stands.
var clockBucket = store.NewBucket[clock.Anchor]("clock")

const clockKey = "server"

// resumeClock goes on with the clock of the last server. A disk that takes no
// write leaves the next server at an older mark, no more.
func resumeClock(db *store.DB) *clock.Clock {
	var a clock.Anchor
	err := db.View(func(tx *store.Tx) (err error) {
		a, _, err = clockBucket.Get(tx, clockKey)
		return err
	})
	c := clock.Resume(a)
	if err == nil {
		err = db.Update(func(tx *store.Tx) error { return clockBucket.Put(tx, clockKey, c.Anchor()) })
	}
	if err != nil {
		slog.Warn("cannot save the clock", "error", err)
	}
	return c
}

func metaKey(id, key string) string { return id + "\x00" + key }

func checkMeta(key string, value []byte) error {
	if key == "" || len(key) > maxMetaKey {
		return fmt.Errorf("%w: a metadata key must have 1 to %d bytes", api.ErrRequest, maxMetaKey)
	}
	if len(value) > maxMetaValue {
		return fmt.Errorf("%w: a metadata value of %d bytes, at most %d", api.ErrTooLarge, len(value), maxMetaValue)
	}
	return nil
}

// putMeta writes metadata of a session; it is durable when putMeta returns.
func (srv *server) putMeta(id string, meta map[string]string) error {
	if len(meta) == 0 {
		return nil
	}
	for k, v := range meta {
		if err := checkMeta(k, []byte(v)); err != nil {
			return err
		}
	}
	return srv.db.Batch(func(tx *store.Tx) error {
		if n := metaBucket.Len(tx, metaKey(id, "")); n+len(meta) > maxMetaKeys {
			return fmt.Errorf("%w: at most %d metadata keys", api.ErrTooLarge, maxMetaKeys)
		}
		for k, v := range meta {
			if err := metaBucket.Put(tx, metaKey(id, k), []byte(v)); err != nil {
				return err
			}
		}
		return nil
	})
}

// getMeta reads one value.
func (srv *server) getMeta(id, key string) (value []byte, err error) {
	if err := checkMeta(key, nil); err != nil {
		return nil, err
	}
	err = srv.db.View(func(tx *store.Tx) error {
		value, _, err = metaBucket.Get(tx, metaKey(id, key))
		return err
	})
	return value, err
}

// allMeta reads a session's metadata.
func (srv *server) allMeta(id string) (map[string][]byte, error) {
	out := make(map[string][]byte)
	prefix := metaKey(id, "")
	err := srv.db.View(func(tx *store.Tx) error {
		return metaBucket.Each(tx, prefix, func(key string, v []byte) error {
			out[key[len(prefix):]] = v
			return nil
		})
	})
	return out, err
}

// removeMeta removes one value.
func (srv *server) removeMeta(id, key string) error {
	if err := checkMeta(key, nil); err != nil {
		return err
	}
	return srv.db.Batch(func(tx *store.Tx) error { return metaBucket.Delete(tx, metaKey(id, key)) })
}

// sweepMeta removes the metadata of sessions that are no more: they ended with
// the machine, or with their keeper.
func (srv *server) sweepMeta() error {
	gone := make(map[string]bool)
	err := srv.db.View(func(tx *store.Tx) error {
		for key := range metaBucket.All(tx, "") {
			if id, _, ok := strings.Cut(key, "\x00"); ok && srv.sessions[id] == nil {
				gone[id] = true
			}
		}
		return nil
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return srv.dropMeta(slices.Collect(maps.Keys(gone))...)
}

// dropMeta removes everything of sessions.
func (srv *server) dropMeta(ids ...string) error {
	return srv.db.Batch(func(tx *store.Tx) error {
		for _, id := range ids {
			for key := range metaBucket.All(tx, metaKey(id, "")) {
				if err := metaBucket.Delete(tx, key); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
