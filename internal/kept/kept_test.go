package kept

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// put writes a file of n bytes that was changed at minute.
func put(t *testing.T, path string, n, minute int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// TestOldestFirst: transcripts and the artifacts of all runs count; the oldest are first,
// and only what gc wrote is removed.
func TestOldestFirst(t *testing.T) {
	city, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	put(t, filepath.Join(city, ".gc", "acp", "s-a", "transcript.jsonl"), 100, 5)
	put(t, filepath.Join(city, ".gc", "acp", "s-a", "transcript.1.jsonl"), 100, 1)
	put(t, filepath.Join(city, ".gc", "acp", "s-b", "transcript.jsonl"), 50, 2)
	put(t, filepath.Join(one, "s-a", Result), 10, 3)
	put(t, filepath.Join(one, "s-a", Cast), 1000, 3)
	put(t, filepath.Join(one, "s-a", "notes.txt"), 5000, 3) // somebody else's
	put(t, filepath.Join(one, "photos", "cat.jpg"), 5000, 0)
	put(t, filepath.Join(two, "s-a", Result), 10, 9)
	for _, dir := range []string{one, two, one} {
		if err := AddRun(city, dir); err != nil {
			t.Fatal(err)
		}
	}
	items, err := Find(city)
	if err != nil || Total(items) != 100+100+50+10+1000+10 {
		t.Fatalf("%d bytes, %v: %+v", Total(items), err, items)
	}
	if Oldest(items, 0) != nil || Oldest(items, Total(items)) != nil {
		t.Error("something is to be removed although there is room")
	}
	var order []string
	for _, it := range Oldest(items, 1) {
		order = append(order, filepath.Base(filepath.Dir(it.Dir))+"/"+it.Session)
		if err := it.Remove(); err != nil {
			t.Error(err)
		}
	}
	want := []string{"acp/s-b", filepath.Base(one) + "/s-a", "acp/s-a", filepath.Base(two) + "/s-a"}
	if strings.Join(order, " ") != strings.Join(want, " ") {
		t.Errorf("order %v, want %v", order, want)
	}
	if items, err := Find(city); err != nil || len(items) != 0 {
		t.Errorf("left: %+v, %v", items, err)
	}
	for _, path := range []string{filepath.Join(one, "s-a", "notes.txt"), filepath.Join(one, "photos", "cat.jpg")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestNothingKept: a city without any of it.
func TestNothingKept(t *testing.T) {
	if items, err := Find(t.TempDir()); err != nil || len(items) != 0 {
		t.Errorf("%+v, %v", items, err)
	}
}
