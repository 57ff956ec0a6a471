package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// TestHistoryFile compares the file with a map: every page that was not dropped
// is read back, now and after a crash, however far the writer got.
func TestHistoryFile(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(root, "h")
		if err != nil {
			rt.Fatal(err)
		}
		w := NewWriter()
		f := &History{Path: filepath.Join(dir, "history", "id"), Writer: w}
		type state struct {
			mark  []byte
			pages map[uint64][]byte
		}
		pages, saved := map[uint64][]byte{}, state{pages: map[uint64][]byte{}}
		var seen, should [][]byte // what was read, which must not be overwritten
		snapshot := func() {
			saved = state{mark: bytes.Join(f.State(), nil), pages: map[uint64][]byte{}}
			for n, p := range pages {
				saved.pages[n] = p
			}
			f.StateSaved()
		}
		snapshot()
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1:
				p := bytes.Repeat([]byte{byte(i + 1)}, rapid.IntRange(1, 20000).Draw(rt, "size"))
				n, err := f.Append(append(f.Buffer(), p...))
				if err != nil {
					rt.Fatal(err)
				}
				pages[n] = p
			case 2:
				for n := range pages {
					f.Drop(n)
					delete(pages, n)
					break
				}
			case 3:
				w.Flush()
			case 4:
				snapshot()
			case 5: // a kill
				w.shutAll()
				w = NewWriter()
				f = &History{Path: f.Path, Writer: w}
				if err := f.Restore(saved.mark); err != nil {
					rt.Fatal(err)
				}
				pages = map[uint64][]byte{}
				for n, p := range saved.pages {
					pages[n] = p
				}
			}
			for n, want := range pages {
				if got, err := f.Read(n); err != nil || !bytes.Equal(got, want) {
					rt.Fatalf("page %x: %d bytes, %v; want %d", n, len(got), err, len(want))
				} else if i%4 == 0 {
					seen, should = append(seen, got), append(should, want)
				}
			}
		}
		for i := range seen {
			if !bytes.Equal(seen[i], should[i]) {
				rt.Fatal("a page that was read is another now")
			}
		}
		f.Remove()
		w.Flush()
		if len(w.opened) > 0 {
			rt.Fatalf("%d files are open", len(w.opened))
		}
		if _, err := os.Stat(f.Path); !os.IsNotExist(err) {
			rt.Fatalf("after remove: %v", err)
		}
	})
}

// TestHistoryFileIsPrivate: other users cannot read what programs wrote.
func TestHistoryFileIsPrivate(t *testing.T) {
	w := NewWriter()
	f := &History{Path: filepath.Join(t.TempDir(), "history", "id"), Writer: w}
	n, err := f.Append([]byte("page"))
	if err != nil {
		t.Fatal(err)
	}
	w.Flush()
	for path, want := range map[string]os.FileMode{f.Path: 0o600, filepath.Dir(f.Path): 0o700 | os.ModeDir} {
		if fi, err := os.Stat(path); err != nil || fi.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", path, fi.Mode(), err, want)
		}
	}
	if err := os.WriteFile(f.Path, []byte("something else is there"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := f.Read(n); err == nil {
		t.Errorf("a page that was changed is read: %q", b)
	}
}
