package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/vt"
)

// recordingBench is a journal, its screen and its recording.
type recordingBench struct {
	j    *Journal
	term *vt.Terminal
	r    *Recording
	path string
}

func newRecordingBench(t *testing.T) *recordingBench {
	t.Helper()
	dir := t.TempDir()
	tableFD, err := sys.NewMemory(dir, HeaderSize*TableSize)
	if err != nil {
		t.Fatal(err)
	}
	table, err := MapTable(tableFD)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := sys.NewMemory(dir, Size)
	if err != nil {
		t.Fatal(err)
	}
	b := &recordingBench{path: filepath.Join(dir, "recordings", "id")}
	if b.j, err = Open(fd, table.At(0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.j.Close()
		_ = unix.Munmap(table.Mem)
		unix.Close(tableFD)
	})
	if b.term, err = vt.New(vt.Options{Cols: 40, Rows: 10}); err != nil {
		t.Fatal(err)
	}
	if b.r, err = OpenRecording(b.path, RecordingOptions{Cols: 40, Rows: 10}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.r.Remove)
	return b
}

// write shows and records output.
func (b *recordingBench) write(text string) {
	b.j.Commit(copy(b.j.Space(), text))
	_, _ = b.term.Write([]byte(text))
	b.r.Take(b.j)
	b.r.Paint(b.j.End(), 40, 10, func(p []byte) ([]byte, error) {
		return b.term.AppendPaint(p, vt.PaintOptions{}), nil
	})
}

// TestRecordingGap: output that a full disk refused is missing, and the screen is right
// again as soon as there is space.
func TestRecordingGap(t *testing.T) {
	b := newRecordingBench(t)
	b.write("recorded\r\n")
	file := b.r.f
	full, err := os.Open(os.DevNull) // open for reading: writes fail
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	b.r.f = full
	b.write("not recorded\r\n")
	b.r.f = file
	b.write("again\r\n")
	b.write("and on\r\n")
	term, err := vt.New(vt.Options{Cols: 40, Rows: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.read(t).Play(term, Moment{At: time.Now()}); err != nil || term.ScreenText() != b.term.ScreenText() {
		t.Fatalf("%q, %v; want %q", term.ScreenText(), err, b.term.ScreenText())
	}
	var raw bytes.Buffer
	if err := b.read(t).Raw(&raw); err != nil || raw.String() != "recorded\r\nand on\r\n" {
		t.Errorf("raw %q, %v", raw.String(), err)
	}
}

func (b *recordingBench) read(t *testing.T) *RecordingReader {
	t.Helper()
	f, err := ReadRecording(b.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}
