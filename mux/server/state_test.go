package server

import (
	"strings"
	"testing"

	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/store"
)

// TestMetadataOfGoneSessions: the next server removes only the metadata of
// sessions that ended with the machine.
func TestMetadataOfGoneSessions(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	if err := statedir.Make(p.Dir); err != nil {
		t.Fatal(err)
	}
	open := func() *store.DB {
		t.Helper()
		db, err := store.Open(p.Db(), schema)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	err := db.Update(func(tx *store.Tx) error {
		for _, key := range []string{"a", "b"} {
			if err := metaBucket.Put(tx, metaKey("before-the-boot", key), []byte("x")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	c := startServerAt(t, p)
	create(t, c, "live", "exec cat")
	create(t, c, "ended", "exit 1")
	awaitExit(t, c, "ended")
	for _, name := range []string{"live", "ended"} {
		if err := c.SetMeta(t.Context(), name, "k", name); err != nil {
			t.Fatal(err)
		}
	}
	killServer(t, c)
	for _, name := range []string{"live", "ended"} {
		var v string
		if err := retry(t.Context(), func() (err error) { v, err = c.GetMeta(t.Context(), name, "k"); return err }); err != nil || v != name {
			t.Errorf("%s: %q, %v", name, v, err)
		}
	}
	if err := c.Shutdown(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	db = open()
	defer db.Close()
	_ = db.View(func(tx *store.Tx) error {
		for key := range metaBucket.All(tx, "") {
			if strings.HasPrefix(key, "before-the-boot") {
				t.Errorf("%q is left", key)
			}
		}
		return nil
	})
}
