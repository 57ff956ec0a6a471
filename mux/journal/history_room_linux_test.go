package journal

import (
	"bytes"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHistorySpaceIsFreed: pages that are no longer needed soon take no space,
// even those dropped before a kill.
func TestHistorySpaceIsFreed(t *testing.T) {
	w := NewWriter()
	f := &History{Path: filepath.Join(t.TempDir(), "id"), Writer: w}
	defer func() { w.shutAll() }()
	var numbers []uint64
	for range 2 * spareMany {
		n, err := f.Append(make([]byte, 4*historyBlock))
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	w.Flush()
	space := func() int64 {
		var st unix.Stat_t
		if err := unix.Stat(f.Path, &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks * 512
	}
	full := space()
	drop := func(from, to int) []byte {
		for _, n := range numbers[from:to] {
			f.Drop(n)
		}
		mark := bytes.Join(f.State(), nil)
		f.StateSaved()
		w.Flush()
		return mark
	}
	mark := drop(0, spareMany-1)
	if got := space(); got != full {
		t.Errorf("a few spare pages: %d bytes of %d are left", got, full)
	}
	f = &History{Path: f.Path, Writer: w} // a kill
	if err := f.Restore(mark); err != nil {
		t.Fatal(err)
	}
	drop(spareMany-1, len(numbers))
	if got := space(); got > 0 {
		t.Errorf("nothing is needed, and %d bytes are left", got)
	}
}
