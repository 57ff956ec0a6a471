package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(writerEnv) != "" {
		writeForever(os.Getenv(writerEnv))
		return
	}
	goleak.VerifyTestMain(m)
}

var testSchema = Schema{Name: "test", Version: 1}

type record struct {
	N    int    `json:"n"`
	Data []byte `json:"data,omitempty"`
}

var records = NewBucket[record]("records")

func mustOpen(t testing.TB, path string, s Schema) *DB {
	t.Helper()
	db, err := Open(path, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func put(t testing.TB, db *DB, key string, n int) {
	t.Helper()
	if err := db.Update(func(tx *Tx) error { return records.Put(tx, key, record{N: n}) }); err != nil {
		t.Fatal(err)
	}
}

// contents reads the whole bucket.
func contents(t testing.TB, db *DB) map[string]int {
	t.Helper()
	got := map[string]int{}
	err := db.View(func(tx *Tx) error {
		for k, v := range records.All(tx, "") {
			got[k] = v.N
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestValuesSurviveReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := mustOpen(t, path, testSchema)
	want := record{N: 7, Data: []byte("\x00\xff raw")}
	err := db.Update(func(tx *Tx) error { return records.Put(tx, "k\x00\xfe", want) })
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, path, testSchema)
	err = db.View(func(tx *Tx) error {
		got, ok, err := records.Get(tx, "k\x00\xfe")
		if err != nil || !ok || got.N != 7 || string(got.Data) != string(want.Data) {
			t.Errorf("got %+v %v %v", got, ok, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFileModeIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	mustOpen(t, path, testSchema)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRollback(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "a.db"), testSchema)
	put(t, db, "kept", 1)
	boom := errors.New("boom")
	err := db.Update(func(tx *Tx) error {
		if err := records.Put(tx, "lost", record{N: 2}); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	if got := contents(t, db); !maps.Equal(got, map[string]int{"kept": 1}) {
		t.Errorf("got %v", got)
	}
}

func TestKeys(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "a.db"), testSchema)
	cases := []struct {
		name, bucket, key string
		ok                bool
	}{
		{"plain", "b", "k", true},
		{"any bytes", "b", "\x00\xff/ä", true},
		{"longest", "b", strings.Repeat("x", MaxKey), true},
		{"empty", "b", "", false},
		{"too long", "b", strings.Repeat("x", MaxKey+1), false},
		{"no bucket name", "", "k", false},
		{"the schema's bucket", schemaBucket, "k", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := NewBucket[int](c.bucket)
			checks := map[string]func(*Tx) error{
				"put":    func(tx *Tx) error { return b.Put(tx, c.key, 1) },
				"get":    func(tx *Tx) error { _, _, err := b.Get(tx, c.key); return err },
				"delete": func(tx *Tx) error { return b.Delete(tx, c.key) },
			}
			for name, fn := range checks {
				if err := db.Update(fn); c.ok != (err == nil) || !c.ok && !errors.Is(err, ErrKey) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestViewCannotWrite(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "a.db"), testSchema)
	writes := map[string]func(*Tx) error{
		"put":      func(tx *Tx) error { return records.Put(tx, "k", record{}) },
		"delete":   func(tx *Tx) error { return records.Delete(tx, "k") },
		"clear":    func(tx *Tx) error { return records.Clear(tx) },
		"sequence": func(tx *Tx) error { _, err := records.NextSequence(tx); return err },
	}
	for name, fn := range writes {
		if err := db.View(fn); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestClosed(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "a.db"), testSchema)
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	nop := func(*Tx) error { return nil }
	for name, err := range map[string]error{"update": db.Update(nop), "view": db.View(nop), "batch": db.Batch(nop)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestIteration(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "a.db"), testSchema)
	for i, k := range []string{"a/1", "b/2", "b/1", "b", "c"} {
		put(t, db, k, i)
	}
	for prefix, want := range map[string][]string{
		"": {"a/1", "b", "b/1", "b/2", "c"}, "b/": {"b/1", "b/2"}, "b": {"b", "b/1", "b/2"}, "x": nil,
	} {
		err := db.View(func(tx *Tx) error {
			var got []string
			if n := records.Len(tx, prefix); n != len(want) {
				t.Errorf("%q: Len %d", prefix, n)
			}
			err := records.Each(tx, prefix, func(k string, _ record) error { got = append(got, k); return nil })
			if !slices.Equal(got, want) {
				t.Errorf("%q: got %v", prefix, got)
			}
			for range records.All(tx, prefix) {
				break // leaving early is fine
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("stop")
	err := db.View(func(tx *Tx) error {
		return records.Each(tx, "", func(string, record) error { return stop })
	})
	if !errors.Is(err, stop) {
		t.Errorf("Each returned %v", err)
	}
}

func TestWritingWhileIterating(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "a.db"), testSchema)
	const n = 500
	err := db.Update(func(tx *Tx) error {
		for i := range n {
			if err := records.Put(tx, fmt.Sprintf("%04d", i), record{N: i}); err != nil {
				return err
			}
		}
		seen := 0
		for k, v := range records.All(tx, "") {
			seen++
			if v.N%2 == 0 {
				if err := records.Delete(tx, k); err != nil {
					return err
				}
			}
		}
		if seen != n {
			t.Errorf("saw %d", seen)
		}
		for range records.All(tx, "") {
			if err := records.Clear(tx); err != nil {
				return err
			}
		}
		if left := records.Len(tx, ""); left != 0 {
			t.Errorf("%d left", left)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedValueFailsTheTransaction(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "a.db"), testSchema)
	texts := NewBucket[string](records.Name())
	if err := db.Update(func(tx *Tx) error { return texts.Put(tx, "k", "no record") }); err != nil {
		t.Fatal(err)
	}
	reads := map[string]func(*Tx) error{
		"get":  func(tx *Tx) error { _, _, err := records.Get(tx, "k"); return err },
		"each": func(tx *Tx) error { return records.Each(tx, "", func(string, record) error { return nil }) },
		"all": func(tx *Tx) error {
			for k := range records.All(tx, "") {
				t.Errorf("yielded %s", k)
			}
			return nil
		},
	}
	for name, fn := range reads {
		for way, run := range map[string]func(func(*Tx) error) error{"view": db.View, "update": db.Update, "batch": db.Batch} {
			if err := run(fn); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s in %s: got %v", name, way, err)
			}
		}
	}
}

func TestSequenceIsNeverReused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var last uint64
	for range 3 {
		db := mustOpen(t, path, testSchema)
		err := db.Update(func(tx *Tx) error {
			n, err := records.NextSequence(tx)
			if n != last+1 {
				t.Errorf("got %d after %d", n, last)
			}
			last = n
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBatch(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "a.db"), testSchema)
	boom := errors.New("boom")
	const n = 60
	errs := make([]error, n)
	panics := make([]any, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			errs[i] = db.Batch(func(tx *Tx) error {
				if err := records.Put(tx, fmt.Sprintf("%03d", i), record{N: i}); err != nil {
					return err
				}
				switch i % 10 {
				case 3:
					return boom
				case 7:
					panic(i)
				}
				return nil
			})
		})
	}
	wg.Wait()
	got := contents(t, db)
	for i := range n {
		_, there := got[fmt.Sprintf("%03d", i)]
		wantErr, wantPanic := i%10 == 3, i%10 == 7
		if there == (wantErr || wantPanic) || errors.Is(errs[i], boom) != wantErr || (panics[i] != nil) != wantPanic {
			t.Errorf("call %d: stored %v, error %v, panic %v", i, there, errs[i], panics[i])
		}
	}
}

// TestCopyOfALostFile: the content of a database whose file was removed can be
// saved.
func TestCopyOfALostFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := Schema{Name: "copy", Version: 1}
	db, err := Open(path, s)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBucket[string]("b")
	put := func(k string) {
		t.Helper()
		if err := db.Update(func(tx *Tx) error { return b.Put(tx, k, k) }); err != nil {
			t.Fatal(err)
		}
	}
	put("before")
	if db.Lost() {
		t.Error("reported lost, but it exists")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !db.Lost() {
		t.Error("not lost, although it was removed")
	}
	put("after")
	if err := db.Copy(path); err != nil {
		t.Fatal(err)
	}
	put("more") // the open file is not the copy
	if !db.Lost() {
		t.Error("the copy is mistaken for the file")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(path, s); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *Tx) error {
		for key, want := range map[string]bool{"before": true, "after": true, "more": false} {
			if _, ok, err := b.Get(tx, key); err != nil || ok != want {
				t.Errorf("%s: %t, %v", key, ok, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
