package controller

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// wantArtifacts checks what a run of the agents a and job left behind.
func wantArtifacts(t *testing.T, dir string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "gc-city-job", ArtifactScreen))
	if err != nil || !strings.Contains(string(b), "all done") {
		t.Errorf("screen %q, %v", b, err)
	}
	var a api.AgentStatus
	if b, err = os.ReadFile(filepath.Join(dir, "gc-city-job", ArtifactResult)); err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil || a.State != api.StateExited || a.LastExit == nil || a.LastExit.Code != 0 {
		t.Errorf("result %s, %v", b, err)
	}
	var st api.Status
	if b, err = os.ReadFile(filepath.Join(dir, ArtifactSummary)); err == nil {
		err = json.Unmarshal(b, &st)
	}
	if err != nil || len(st.Agents) != 2 {
		t.Errorf("summary %s, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "gc-city-a", ArtifactScrollback)); err != nil {
		t.Error(err)
	}
}

// What an earlier run left on a screen is not an artifact of this one.
func TestArtifactsAreOfThisRun(t *testing.T) {
	const waits = "[[agents]]\nname = \"later\"\nstart_command = \"work\"\nlifecycle = \"one_shot\"\ndepends_on = [\"job\"]\n"
	bubble(t, oneJob+waits, func(r *rig) {
		if err := r.fake.Start(t.Context(), "gc-city-later", runtime.Config{}); err != nil {
			t.Fatal(err)
		}
		r.fake.SetPeek("gc-city-later", "of yesterday")
		r.fake.Exit("gc-city-later", 0)
		dir := t.TempDir()
		r.start(func(o *Options) { o.Until, o.Timeout, o.Artifacts = UntilDone, time.Minute, dir })
		r.fake.SetPeek("gc-city-job", "of today")
		if err := <-r.result; !errors.Is(err, api.ErrTimeout) {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"gc-city-job": "of today\n", "gc-city-later": ""} {
			b, err := os.ReadFile(filepath.Join(dir, name, ArtifactScreen))
			if err != nil || string(b) != want {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	})
}
