package staging_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gascity.dev/gc/internal/staging"
)

// A staging that failed halfway is finished by the next one: none of our files
// become the user's.
func TestFailedStagingIsFinishedLater(t *testing.T) {
	for name, obstacle := range map[string]string{"a file": ".b.gc-staging/x", "the manifest": ".gc/staged.json.new/x"} {
		t.Run(name, func(t *testing.T) {
			over := tree(t, map[string]string{"a": "v1", "b": "v1"})
			work := t.TempDir()
			stage := func() error { return staging.Overlay(t.Context(), work, []string{over}, nil) }
			if err := stage(); err != nil {
				t.Fatal(err)
			}
			put(t, over, map[string]string{"a": "v2", "b": "v2"})
			put(t, work, map[string]string{obstacle: ""})
			if err := stage(); err == nil {
				t.Fatal("no error")
			}
			if err := os.RemoveAll(filepath.Dir(filepath.Join(work, obstacle))); err != nil {
				t.Fatal(err)
			}
			if err := stage(); err != nil {
				t.Fatal(err)
			}
			wantTree(t, work, map[string]string{"a": "v2", "b": "v2"})
		})
	}
}

// A process killed while staging has left a file written or not; both are ours,
// unless the user changed it since.
func TestKilledStagingIsFinishedLater(t *testing.T) {
	over := tree(t, map[string]string{"done": "v1", "not": "v1", "edited": "v1"})
	work := t.TempDir()
	stage := func() {
		t.Helper()
		if err := staging.Overlay(t.Context(), work, []string{over}, nil); err != nil {
			t.Fatal(err)
		}
	}
	manifest := func() map[string]any {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(work, ".gc/staged.json"))
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]any{}
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	stage()
	before := manifest()
	put(t, over, map[string]string{"done": "v2", "not": "v2", "edited": "v2"})
	stage()
	before["pending"] = manifest()["files"]
	data, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	put(t, work, map[string]string{".gc/staged.json": string(data), "not": "v1", "edited": "by the user"})
	stage()
	wantTree(t, work, map[string]string{"done": "v2", "not": "v2", "edited": "by the user"})
	put(t, over, map[string]string{"done": "v3", "not": "v3", "edited": "v3"})
	stage()
	wantTree(t, work, map[string]string{"done": "v3", "not": "v3", "edited": "by the user"})
	if left := manifest()["pending"]; left != nil {
		t.Errorf("left pending: %v", left)
	}
}
