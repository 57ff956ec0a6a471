package server

import (
	"testing"

	"gascity.dev/gc/mux/internal/muxdb"
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
		db, err := muxdb.Open(p.Db())
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	if err := (muxdb.Metadata{DB: db}).Put("before-the-boot", map[string]string{"a": "x", "b": "x"}); err != nil {
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
	if left, err := (muxdb.Metadata{DB: db}).All("before-the-boot"); err != nil || len(left) != 0 {
		t.Errorf("%q is left, %v", left, err)
	}
}
