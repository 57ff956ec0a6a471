package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKeptFilesStayWithinTheLimit: the oldest transcripts are removed, never that of an
// agent that runs or of a session of which nothing is known.
func TestKeptFilesStayWithinTheLimit(t *testing.T) {
	bubble(t, "[daemon]\nmax_kept = \"1500B\"\n"+oneAgent, func(r *rig) {
		transcripts := filepath.Join(r.dir, ".gc", "acp")
		put := func(session string, age time.Duration) string {
			path := filepath.Join(transcripts, session, "transcript.jsonl")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.Repeat("x", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Now().Add(-age), time.Now().Add(-age)); err != nil {
				t.Fatal(err)
			}
			return path
		}
		r.start()
		r.wantState("a", "running")
		live, unknown := put("gc-city-a", 4*time.Hour), put("gc-city-silent", 3*time.Hour)
		older, newer := put("gc-city-gone", 2*time.Hour), put("gc-city-gone-too", time.Hour)
		r.fake.FailTimes("IsRunning", "gc-city-silent", os.ErrDeadlineExceeded, 1000)
		time.Sleep(2 * keepEvery)
		for path, want := range map[string]bool{live: true, unknown: true, older: false, newer: false} {
			if _, err := os.Stat(path); (err == nil) != want {
				t.Errorf("%s: kept %v, want %v", path, err == nil, want)
			}
		}
		r.end()
	})
}
