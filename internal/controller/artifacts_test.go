package controller

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wantArtifacts checks what a run of the agents a and job left.
func wantArtifacts(t *testing.T, dir string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "gc-city-job", ArtifactScreen))
	if err != nil || !strings.Contains(string(b), "all done") {
		t.Errorf("screen %q, %v", b, err)
	}
	var a AgentStatus
	if b, err = os.ReadFile(filepath.Join(dir, "gc-city-job", ArtifactResult)); err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil || a.State != StateExited || a.LastExit == nil || a.LastExit.Code != 0 {
		t.Errorf("result %s, %v", b, err)
	}
	var st Status
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
