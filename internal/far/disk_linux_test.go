package far_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
)

// TestFullDiskThere: the error keeps its identity and names the machine and the file; the
// work dir has no half of one.
func TestFullDiskThere(t *testing.T) {
	m := newMachine(t)
	src, work := t.TempDir(), t.TempDir()
	if err := unix.Mount("tmpfs", work, "tmpfs", 0, "size=1m"); err != nil {
		testenv.Missing(t, "no file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(work, unix.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(src, "big"), make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	err := m.Stage(t.Context(), work, staging.Plan{Overlays: []string{src}})
	if !errors.Is(err, unix.ENOSPC) || errors.Is(err, api.ErrUnreachable) || !strings.Contains(err.Error(), "ssh://there: ") || !strings.Contains(err.Error(), "stage big: ") {
		t.Errorf("%v", err)
	}
	if left, err := filepath.Glob(filepath.Join(work, "*big*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
