package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// refused opens a file that must be rejected, and checks that it is unchanged.
func refused(t *testing.T, path string, want error) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(path, testSchema)
	if err == nil {
		_ = db.Close()
	}
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed (%v)", err)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// sample is a database with branch pages, overflow pages, free pages, and an
// inline bucket.
func sample(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.db")
	db := mustOpen(t, path, testSchema)
	for round := range 3 {
		err := db.Update(func(tx *Tx) error {
			for i := range 400 {
				key := fmt.Sprintf("key %d", i)
				if err := records.Put(tx, key, record{N: round, Data: make([]byte, i%90)}); err != nil {
					return err
				}
			}
			if err := NewBucket[string]("small").Put(tx, "k", "v"); err != nil {
				return err
			}
			return records.Put(tx, "large", record{Data: make([]byte, 20_000)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSampleIsWhole(t *testing.T) {
	db := mustOpen(t, write(t, sample(t)), testSchema)
	if n := len(contents(t, db)); n != 401 {
		t.Errorf("%d records", n)
	}
}

func TestForeignFiles(t *testing.T) {
	files := map[string][]byte{
		"empty": {}, "text": []byte("hello\n"), "zeros": make([]byte, 64<<10),
		"long text": bytes.Repeat([]byte("not a database\n"), 10_000),
	}
	for name, data := range files {
		t.Run(name, func(t *testing.T) { refused(t, write(t, data), ErrCorrupt) })
	}
}

func TestForeignBolt(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.db")
		b, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: noSync})
		if err != nil {
			t.Fatal(err)
		}
		err = b.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })
		if err := errors.Join(err, b.Close()); err != nil {
			t.Fatal(err)
		}
		refused(t, path, ErrCorrupt)
	}
}

func TestOtherSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := mustOpen(t, path, Schema{Name: "other", Version: 1})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, path, ErrCorrupt)
}

func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := mustOpen(t, path, Schema{Name: testSchema.Name, Version: testSchema.Version + 1})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, path, ErrNewer)
}

func TestTruncated(t *testing.T) {
	data := sample(t)
	for n := 0; n < len(data); n += 1024 {
		if n > 8192 && n < len(data)-8192 && n%16384 != 0 {
			continue
		}
		path := write(t, data[:n])
		db, err := Open(path, testSchema)
		if err == nil {
			// bbolt grows files ahead of need: only unused pages were cut off.
			if got := len(contents(t, db)); got != 401 {
				t.Errorf("cut to %d of %d bytes: opened with %d records", n, len(data), got)
			}
			_ = db.Close()
			continue
		}
		refused(t, path, ErrCorrupt)
	}
}

// TestDamaged flips bytes: the file opens with readable content or is rejected,
// and never crashes the process. Values have no checksum, so some damage shows
// only as a different value.
func TestDamaged(t *testing.T) {
	data := sample(t)
	rng := rand.New(rand.NewPCG(1, 2))
	refusedCount := 0
	for round := range 300 {
		bad := bytes.Clone(data)
		for range 1 + rng.IntN(8) {
			// Page headers and element tables are at the start of pages.
			page := rng.IntN(len(bad) / 4096)
			bad[page*4096+rng.IntN(64)] = byte(rng.Uint32())
		}
		path := write(t, bad)
		db, err := Open(path, testSchema)
		if err != nil {
			refusedCount++
			after, rerr := os.ReadFile(path)
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) || rerr != nil || !bytes.Equal(bad, after) {
				t.Fatalf("round %d: %v", round, err)
			}
			continue
		}
		_ = db.View(func(tx *Tx) error { return records.Each(tx, "", func(string, record) error { return nil }) })
		db.bolt.NoSync = true
		_ = db.Update(func(tx *Tx) error { return records.Put(tx, "new", record{}) })
		_ = db.Close()
	}
	if refusedCount < 100 {
		t.Errorf("only %d of 300 damaged files were refused", refusedCount)
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	first := mustOpen(t, path, testSchema)
	if db, err := Open(path, testSchema); !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v %v", db, err)
	}
	put(t, first, "k", 1)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, mustOpen(t, path, testSchema)); got["k"] != 1 {
		t.Errorf("got %v", got)
	}
}

func TestMissingFolder(t *testing.T) {
	if db, err := Open(filepath.Join(t.TempDir(), "no", "a.db"), testSchema); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v %v", db, err)
	}
}

// TestManyCreators: of several concurrent creators exactly one gets the file;
// the others find it locked.
func TestManyCreators(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var wg sync.WaitGroup
	dbs := make([]*DB, 8)
	for i := range dbs {
		wg.Go(func() {
			db, err := Open(path, testSchema)
			if err != nil && !errors.Is(err, ErrLocked) {
				t.Errorf("opener %d: %v", i, err)
			}
			dbs[i] = db
		})
	}
	wg.Wait()
	opened := 0
	for _, db := range dbs {
		if db != nil {
			opened++
			put(t, db, "k", 1)
			_ = db.Close()
		}
	}
	if opened != 1 {
		t.Errorf("%d opened it", opened)
	}
	if got := contents(t, mustOpen(t, path, testSchema)); got["k"] != 1 {
		t.Errorf("got %v", got)
	}
}

func TestLeftoverOfACrashedCreation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path+newSuffix, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, mustOpen(t, path, testSchema), "k", 1)
	if _, err := os.Stat(path + newSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("leftover is still there: %v", err)
	}
}

func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	step := func(from, to string) func(*Tx) error {
		b := NewBucket[string]("steps")
		return func(tx *Tx) error {
			v, _, err := b.Get(tx, "at")
			if err != nil || v != from {
				return fmt.Errorf("at %q, %w", v, err)
			}
			return b.Put(tx, "at", to)
		}
	}
	boom := errors.New("boom")
	one := Schema{Name: "m", Version: 1, Migrate: []func(*Tx) error{step("", "one")}}
	broken := Schema{Name: "m", Version: 3, Migrate: append(one.Migrate, step("one", "two"), func(*Tx) error { return boom })}
	three := Schema{Name: "m", Version: 4, Migrate: append(one.Migrate, step("one", "two"), nil, step("two", "four"))}

	open := func(s Schema) error {
		db, err := Open(path, s)
		if err != nil {
			return err
		}
		return db.Close()
	}
	if err := open(one); err != nil {
		t.Fatal(err)
	}
	if err := open(broken); !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	// The failed one left version 1 unchanged; otherwise this one would fail.
	if err := open(three); err != nil {
		t.Fatal(err)
	}
	if err := open(three); err != nil {
		t.Fatal(err)
	}
	if err := open(one); !errors.Is(err, ErrNewer) {
		t.Fatalf("got %v", err)
	}
	for _, s := range []Schema{{}, {Name: "m", Version: -1}, {Name: "m", Migrate: one.Migrate}} {
		if err := open(s); err == nil {
			t.Errorf("%+v was accepted", s)
		}
	}
}

func TestFailedCreationLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	boom := errors.New("boom")
	_, err := Open(path, Schema{Name: "m", Version: 1, Migrate: []func(*Tx) error{func(*Tx) error { return boom }}})
	if !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func FuzzVerify(f *testing.F) {
	data := sample(f)
	f.Add(data)
	f.Add(data[:5000])
	f.Fuzz(func(t *testing.T, data []byte) {
		// Most inputs are rejected; the others must be safe for bbolt.
		if len(data) == 0 || verifyData(data) != nil {
			return
		}
		db, err := Open(write(t, data), testSchema)
		if err != nil {
			return
		}
		_ = db.View(func(tx *Tx) error { return records.Each(tx, "", func(string, record) error { return nil }) })
		_ = db.Close()
	})
}
