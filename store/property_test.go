package store

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is what the database should hold.
type model struct {
	t    *testing.T
	path string
	db   *DB
	want map[string]int
}

func keys() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"a", "a/b", "a/c", "\x00", "\xff", "zz"}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 40), func(b []byte) string { return string(b) }),
	)
}

// TestAgainstMap: after any operations, failed transactions and reopenings, the
// bucket equals a map.
func TestAgainstMap(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		file, err := os.CreateTemp(dir, "*.dir")
		if err != nil {
			rt.Fatal(err)
		}
		m := &model{t: t, path: file.Name() + ".db", want: map[string]int{}}
		if err := file.Close(); err != nil {
			rt.Fatal(err)
		}
		m.reopen(rt)
		defer func() { _ = m.db.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"update": m.update,
			"reopen": m.reopen,
			"prefix": m.prefix,
			"":       m.compare,
		})
	})
}

// update runs several writes in one transaction, which may fail at its end.
func (m *model) update(rt *rapid.T) {
	next := maps.Clone(m.want)
	n := rapid.IntRange(1, 12).Draw(rt, "writes")
	fail := rapid.Bool().Draw(rt, "fail")
	batch := rapid.Bool().Draw(rt, "batch")
	boom := errors.New("boom")
	type op struct {
		key string
		val int // negative: delete
	}
	ops := make([]op, n)
	for i := range ops {
		ops[i] = op{keys().Draw(rt, "key"), rapid.IntRange(-2, 1000).Draw(rt, "value")}
	}
	run := m.db.Update
	if batch {
		run = m.db.Batch
	}
	err := run(func(tx *Tx) error {
		for _, o := range ops {
			if o.val < 0 {
				delete(next, o.key)
				if err := records.Delete(tx, o.key); err != nil {
					return err
				}
				continue
			}
			next[o.key] = o.val
			if err := records.Put(tx, o.key, record{N: o.val, Data: make([]byte, o.val)}); err != nil {
				return err
			}
		}
		if fail {
			return boom
		}
		return nil
	})
	if fail != errors.Is(err, boom) || !fail && err != nil {
		rt.Fatalf("update: %v", err)
	}
	if !fail {
		m.want = next
	}
}

func (m *model) reopen(rt *rapid.T) {
	if m.db != nil {
		if err := m.db.Close(); err != nil {
			rt.Fatal(err)
		}
	}
	db, err := Open(m.path, testSchema)
	if err != nil {
		rt.Fatal(err)
	}
	db.bolt.NoSync = true // no power failure here: kill -9 has a test of its own
	m.db = db
}

func (m *model) prefix(rt *rapid.T) {
	prefix := keys().Draw(rt, "prefix")
	var want, got []string
	for k := range m.want {
		if strings.HasPrefix(k, prefix) {
			want = append(want, k)
		}
	}
	slices.Sort(want)
	err := m.db.View(func(tx *Tx) error {
		for k := range records.All(tx, prefix) {
			got = append(got, k)
		}
		return nil
	})
	if err != nil || !slices.Equal(got, want) {
		rt.Fatalf("prefix %q: got %q, want %q, %v", prefix, got, want, err)
	}
}

func (m *model) compare(rt *rapid.T) {
	if got := contents(m.t, m.db); !maps.Equal(got, m.want) {
		rt.Fatalf("got %v, want %v", got, m.want)
	}
	for k, n := range m.want {
		err := m.db.View(func(tx *Tx) error {
			v, ok, err := records.Get(tx, k)
			if !ok || v.N != n || len(v.Data) != n {
				rt.Fatalf("%q: got %d %v", k, v.N, ok)
			}
			return err
		})
		if err != nil {
			rt.Fatal(err)
		}
	}
}
