//go:build e2e

package vt_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLiveTmux feeds the recordings and captures to the installed tmux and
// compares the screens. The tables of differences are for tmux 3.3a: with
// another version a listed difference may be gone; a new one fails.
func TestLiveTmux(t *testing.T) {
	version, err := exec.Command("tmux", "-V").Output()
	if err != nil {
		t.Fatalf("tmux: %v", err)
	}
	t.Logf("%s", version)
	same := strings.TrimSpace(string(version)) == "tmux 3.3a"
	liveRecordings(t, same)
	liveCaptures(t, same)
}

func liveRecordings(t *testing.T, same bool) {
	dir := t.TempDir()
	files, err := filepath.Glob("testdata/recordings/*.raw")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		copyFile(t, filepath.Join(dir, filepath.Base(f)), f, -1)
	}
	golden(t, dir, "80x24")
	explained := readDifferences(t, differencesFile)
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".raw")
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		compareLive(t, name, shootOurs(t, raw, 80, 24), readGolden(t, filepath.Join(dir, name), 24), explained[name], same)
	}
}

func liveCaptures(t *testing.T, same bool) {
	dir := t.TempDir()
	files, err := filepath.Glob("testdata/captures/*.marks")
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string]mark{}
	source := map[string]string{}
	for _, f := range files {
		for _, m := range readMarks(t, f) {
			marks[m.shot], source[m.shot] = m, strings.TrimSuffix(f, ".marks")+".raw"
			copyFile(t, filepath.Join(dir, m.shot+".raw"), source[m.shot], m.at)
		}
	}
	golden(t, dir, "120x40")
	explained := readDifferences(t, capturesDifferences)
	for shot := range marks {
		raw, err := os.ReadFile(filepath.Join(dir, shot+".raw"))
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := shootOurs(t, raw, 120, 40), readGolden(t, filepath.Join(dir, shot), 40)
		ours.history, theirs.history = nil, nil
		compareLive(t, shot, ours, theirs, explained[shot], same)
	}
}

// compareLive is checkDifferences, but accepts that another version of tmux
// lacks a listed difference.
func compareLive(t *testing.T, name string, ours, theirs screenshot, explained map[string]string, same bool) {
	t.Helper()
	if same {
		checkDifferences(t, name, ours, theirs, explained)
		return
	}
	for where, d := range findDifferences(ours, theirs) {
		if explained[where] == "" {
			t.Errorf("%s %s: %s", name, where, d)
		}
	}
}

// golden runs golden.sh over dir.
func golden(t *testing.T, dir, size string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.raw"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	cmd := exec.Command("bash", append([]string{"testdata/golden.sh", "-s", size}, files...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("golden.sh: %v\n%s", err, out)
	}
}

// copyFile copies the first n bytes of a file, all if n < 0.
func copyFile(t *testing.T, to, from string, n int) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if n >= 0 {
		b = b[:n]
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
