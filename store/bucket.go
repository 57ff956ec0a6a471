package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Bucket is a named set of values of type T, stored as JSON. It holds no state:
// declare it once, as a package variable, and use it in any transaction. A
// bucket that was never written reads as empty.
//
// Keys are any bytes, 1 to MaxKey of them (otherwise ErrKey), sorted bytewise.
// JSON replaces invalid UTF-8 in strings: store bytes in a []byte.
type Bucket[T any] struct{ name string }

// NewBucket returns the bucket of that name.
func NewBucket[T any](name string) Bucket[T] { return Bucket[T]{name: name} }

// Name returns the bucket's name.
func (b Bucket[T]) Name() string { return b.name }

// Get reads a value; ok is false if the key does not exist. A value that does
// not decode is ErrCorrupt.
func (b Bucket[T]) Get(tx *Tx, key string) (v T, ok bool, err error) {
	if err := b.checkKey(key); err != nil {
		return v, false, err
	}
	bb := tx.bolt.Bucket([]byte(b.name))
	if bb == nil {
		return v, false, nil
	}
	data := bb.Get([]byte(key))
	if data == nil {
		return v, false, nil
	}
	if v, err = b.decode(key, data); err != nil {
		return v, false, err
	}
	return v, true, nil
}

// Put writes a value, replacing any previous one. Put, Delete, Clear and NextSequence
// return ErrReadOnly in View.
func (b Bucket[T]) Put(tx *Tx, key string, v T) error {
	if err := b.checkKey(key); err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s/%q: %w", b.name, key, err)
	}
	bb, err := b.create(tx)
	if err != nil {
		return err
	}
	if err := bb.Put([]byte(key), data); err != nil {
		return b.wrap(key, err)
	}
	return nil
}

// Delete removes a key; a missing key is not an error.
func (b Bucket[T]) Delete(tx *Tx, key string) error {
	if err := b.checkKey(key); err != nil {
		return err
	}
	if !tx.bolt.Writable() {
		return b.wrap(key, berrors.ErrTxNotWritable)
	}
	bb := tx.bolt.Bucket([]byte(b.name))
	if bb == nil {
		return nil
	}
	if err := bb.Delete([]byte(key)); err != nil {
		return b.wrap(key, err)
	}
	return nil
}

// Clear removes every key, and resets the bucket's sequence.
func (b Bucket[T]) Clear(tx *Tx) error {
	if err := b.checkName(); err != nil {
		return err
	}
	err := tx.bolt.DeleteBucket([]byte(b.name))
	if err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
		return b.wrap("", err)
	}
	return nil
}

// All yields the entries whose key starts with prefix, in key order. The loop
// may write to and delete from the bucket; an entry inserted ahead of the
// position is seen. An entry that does not decode ends the loop and fails the
// whole transaction with ErrCorrupt.
func (b Bucket[T]) All(tx *Tx, prefix string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		b.scan(tx, prefix, func(key string, data []byte) bool {
			v, err := b.decode(key, data)
			if err != nil {
				tx.fail(err)
				return false
			}
			return yield(key, v)
		})
	}
}

// Each calls fn for the entries whose key starts with prefix, in key order,
// until fn returns an error or an entry does not decode; it returns that error.
// fn may write as in All.
func (b Bucket[T]) Each(tx *Tx, prefix string, fn func(key string, v T) error) error {
	var failed error
	b.scan(tx, prefix, func(key string, data []byte) bool {
		var v T
		if v, failed = b.decode(key, data); failed == nil {
			failed = fn(key, v)
		}
		return failed == nil
	})
	return failed
}

// Len counts the entries whose key starts with prefix one by one, without decoding them.
func (b Bucket[T]) Len(tx *Tx, prefix string) int {
	n := 0
	b.scan(tx, prefix, func(string, []byte) bool { n++; return true })
	return n
}

// NextSequence returns 1, 2, 3 … for this bucket. A number is never reused once
// its transaction commits.
func (b Bucket[T]) NextSequence(tx *Tx) (uint64, error) {
	bb, err := b.create(tx)
	if err != nil {
		return 0, err
	}
	n, err := bb.NextSequence()
	if err != nil {
		return 0, b.wrap("", err)
	}
	return n, nil
}

// scan visits the raw entries. The bucket may change in between, so in a
// writable transaction the cursor is repositioned.
func (b Bucket[T]) scan(tx *Tx, prefix string, visit func(string, []byte) bool) {
	bb := tx.bolt.Bucket([]byte(b.name))
	if bb == nil {
		return
	}
	c := bb.Cursor()
	for k, v := c.Seek([]byte(prefix)); k != nil && strings.HasPrefix(string(k), prefix); {
		key := string(k)
		if !visit(key, v) {
			return
		}
		if !tx.bolt.Writable() {
			k, v = c.Next()
			continue
		}
		if bb = tx.bolt.Bucket([]byte(b.name)); bb == nil {
			return
		}
		c = bb.Cursor()
		if k, v = c.Seek([]byte(key)); bytes.Equal(k, []byte(key)) {
			k, v = c.Next()
		}
	}
}

func (b Bucket[T]) create(tx *Tx) (*bolt.Bucket, error) {
	if err := b.checkName(); err != nil {
		return nil, err
	}
	bb, err := tx.bolt.CreateBucketIfNotExists([]byte(b.name))
	if err != nil {
		return nil, b.wrap("", err)
	}
	return bb, nil
}

func (b Bucket[T]) decode(key string, data []byte) (v T, err error) {
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("value %s/%q: %w: %w", b.name, key, ErrCorrupt, err)
	}
	return v, nil
}

func (b Bucket[T]) checkName() error {
	if b.name == "" || b.name == schemaBucket || len(b.name) > MaxKey {
		return fmt.Errorf("bucket name %.40q: %w", b.name, ErrKey)
	}
	return nil
}

func (b Bucket[T]) checkKey(key string) error {
	if err := b.checkName(); err != nil {
		return err
	}
	switch {
	case key == "":
		return fmt.Errorf("empty key in bucket %s: %w", b.name, ErrKey)
	case len(key) > MaxKey:
		return fmt.Errorf("key of %d bytes in bucket %s (at most %d): %w", len(key), b.name, MaxKey, ErrKey)
	}
	return nil
}

func (b Bucket[T]) wrap(key string, err error) error {
	if errors.Is(err, berrors.ErrTxNotWritable) {
		err = ErrReadOnly
	}
	return fmt.Errorf("%s/%q: %w", b.name, key, err)
}
