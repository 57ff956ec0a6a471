package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/runtime"
)

// recorded is a backend that keeps recordings.
type recorded struct {
	runtime.Provider
	mu   sync.Mutex
	list []runtime.Recording
}

func (r *recorded) Unwrap() runtime.Provider { return r.Provider }

func (r *recorded) Recordings(_ context.Context, key, _ string) ([]runtime.Recording, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key != agent.MetaCityPath {
		return nil, errors.New("another key: " + key)
	}
	return slices.Clone(r.list), nil
}

func (r *recorded) DropRecording(_ context.Context, rec runtime.Recording) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(o runtime.Recording) bool { return o.ID == rec.ID })
	return nil
}

func (r *recorded) ids() (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.list {
		ids = append(ids, rec.ID)
	}
	return ids
}

// TestRecordingsCount: recordings count as the city's files do; the oldest are removed,
// never that of a session that runs.
func TestRecordingsCount(t *testing.T) {
	bubble(t, "[daemon]\nmax_kept = \"2500B\"\n"+oneAgent, func(r *rig) {
		back := &recorded{Provider: r.fake}
		r.start(func(o *Options) { o.Provider = back })
		r.wantState("a", "running")
		back.mu.Lock()
		for i, id := range []string{"live", "old", "older", "new"} {
			age := []time.Duration{4, 2, 3, 1}[i] * time.Hour
			back.list = append(back.list, runtime.Recording{
				ID: id, Session: "gc-city-a", Running: id == "live", Bytes: 1000, Changed: time.Now().Add(-age),
			})
		}
		back.mu.Unlock()
		time.Sleep(keepEvery + time.Minute)
		if got := back.ids(); !slices.Equal(got, []string{"live", "new"}) {
			t.Errorf("kept %v; log:\n%s", got, r.log)
		}
		r.end()
	})
}

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
		time.Sleep(keepEvery + time.Minute)
		for path, want := range map[string]bool{live: true, unknown: true, older: false, newer: false} {
			if _, err := os.Stat(path); (err == nil) != want {
				t.Errorf("%s: kept %v, want %v", path, err == nil, want)
			}
		}
		r.end()
	})
}
