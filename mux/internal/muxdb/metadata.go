package muxdb

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// metaBucket maps session id, NUL, key to a value. Nothing else must be durable: what a
// session is, the keeper knows as long as the session exists.
var metaBucket = store.NewBucket[[]byte]("meta")

const (
	maxMetaKey   = 1024
	maxMetaValue = 1 << 20
	maxMetaKeys  = 1024
)

// Metadata is the metadata of sessions.
type Metadata struct{ DB *store.DB }

// Put writes metadata of a session durably.
func (m Metadata) Put(id string, meta map[string]string) error {
	if len(meta) == 0 {
		return nil
	}
	for k, v := range meta {
		if err := checkMeta(k, []byte(v)); err != nil {
			return err
		}
	}
	return m.DB.Batch(func(tx *store.Tx) error {
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

// Get reads one value.
func (m Metadata) Get(id, key string) (value []byte, err error) {
	if err := checkMeta(key, nil); err != nil {
		return nil, err
	}
	err = m.DB.View(func(tx *store.Tx) error {
		value, _, err = metaBucket.Get(tx, metaKey(id, key))
		return err
	})
	return value, err
}

// All reads a session's metadata.
func (m Metadata) All(id string) (map[string][]byte, error) {
	out := make(map[string][]byte)
	prefix := metaKey(id, "")
	err := m.DB.View(func(tx *store.Tx) error {
		return metaBucket.Each(tx, prefix, func(key string, v []byte) error {
			out[key[len(prefix):]] = v
			return nil
		})
	})
	return out, err
}

// Remove removes one value.
func (m Metadata) Remove(id, key string) error {
	if err := checkMeta(key, nil); err != nil {
		return err
	}
	return m.DB.Batch(func(tx *store.Tx) error { return metaBucket.Delete(tx, metaKey(id, key)) })
}

// Sweep removes the metadata of sessions that no longer exist: they ended with the
// machine or with their keeper.
func (m Metadata) Sweep(exists func(id string) bool) error {
	gone := make(map[string]bool)
	err := m.DB.View(func(tx *store.Tx) error {
		for key := range metaBucket.All(tx, "") {
			if id, _, ok := strings.Cut(key, "\x00"); ok && !exists(id) {
				gone[id] = true
			}
		}
		return nil
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return m.Drop(slices.Collect(maps.Keys(gone))...)
}

// Drop removes all metadata of sessions.
func (m Metadata) Drop(ids ...string) error {
	return m.DB.Batch(func(tx *store.Tx) error {
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
