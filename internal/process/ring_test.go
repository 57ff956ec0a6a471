package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// disk is a file in memory that can be full.
type disk struct {
	data []byte
	full bool
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(d.data)) {
		return 0, io.EOF
	}
	n := copy(p, d.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if d.full && off >= ringHeader { // the block of the header exists
		return 0, unix.ENOSPC
	}
	if need := int(off) + len(p); need > len(d.data) {
		d.data = append(d.data, make([]byte, need-len(d.data))...)
	}
	return copy(d.data[off:], p), nil
}

func (d *disk) Close() error { return nil }

// TestRingAgainstModel: whatever is written, restarted and refused by the disk,
// every kept line has its number and its text, and lost ones are marked.
func TestRingAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &disk{}
		r, err := newRing(d)
		if err != nil {
			t.Fatal(err)
		}
		spill := rapid.SampledFrom([]int{0, 1, 1000, SpillFront}).Draw(t, "spill")
		r.SetSpill(spill)
		var all []byte
		steps := rapid.IntRange(1, 5).Draw(t, "steps")
		for range steps {
			size := rapid.SampledFrom([]int{1, 10, 1000, 300_000, 1_500_000, 3_000_000}).Draw(t, "size")
			width := rapid.SampledFrom([]int{80, 5000, 200_000}).Draw(t, "width")
			p := make([]byte, size)
			for j := range p {
				p[j] = byte('a' + (len(all)+j)%26)
				if (j+1)%width == 0 {
					p[j] = '\n'
				}
			}
			d.full = rapid.IntRange(0, 4).Draw(t, "full") == 0
			back := rapid.IntRange(0, min(len(all), 5000)).Draw(t, "again") // reported again after a crash
			if d.full {
				back = 0
			}
			r.Write(append(bytes.Clone(all[len(all)-back:]), p...), uint64(len(all)-back))
			all = append(all, p...)
			if rapid.Bool().Draw(t, "restart") {
				if r, err = newRing(d); err != nil {
					t.Fatal(err)
				}
				r.SetSpill(spill)
			}
		}
		checkRing(t, r, all)
		checkRead(t, r, all)
	})
}

func checkRing(t *rapid.T, r *Ring, all []byte) {
	lines := uint64(bytes.Count(all, []byte{'\n'}))
	if len(all) > 0 && all[len(all)-1] != '\n' {
		lines++
	}
	whole := bytes.Split(all, []byte{'\n'})
	for first := uint64(1); ; {
		limit := rapid.IntRange(1000, 400_000).Draw(t, "limit")
		p, err := r.Page(first, limit, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.TotalLines != lines || p.TotalBytes != uint64(len(all)) {
			t.Fatalf("totals %d %d, want %d %d", p.TotalLines, p.TotalBytes, lines, len(all))
		}
		for _, l := range p.Lines {
			if l.Missing > 0 {
				continue
			}
			want := whole[l.N-1]
			if l.Cut && !bytes.Contains(want, l.Text) || !l.Cut && !bytes.Equal(want, l.Text) && !bytes.HasPrefix(want, l.Text) {
				t.Fatalf("line %d is %.80q, want %.80q", l.N, l.Text, want)
			}
		}
		if p.Next <= first {
			if first <= lines {
				t.Fatalf("no way on from line %d of %d", first, lines)
			}
			return
		}
		if p.Next > lines {
			return
		}
		first = p.Next
	}
}

func checkRead(t *rapid.T, r *Ring, all []byte) {
	var at uint64
	for at < uint64(len(all)) {
		data, next, missing, err := r.Read(at, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		from := at + missing
		if !bytes.Equal(data, all[from:from+uint64(len(data))]) {
			t.Fatalf("bytes at %d are wrong", from)
		}
		if next != from+uint64(len(data)) || next <= at {
			t.Fatalf("from %d to %d with %d missing and %d bytes", at, next, missing, len(data))
		}
		at = next
	}
	if _, _, _, err := r.Read(uint64(len(all))+1, 10); !errors.Is(err, ErrCursor) {
		t.Fatalf("behind the end: %v", err)
	}
}

func TestRingKeepsHeadAndTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	r, err := OpenRing(path)
	if err != nil {
		t.Fatal(err)
	}
	var n uint64
	for i := range 400_000 {
		line := fmt.Sprintf("line %d %s\n", i+1, strings.Repeat(".", 50))
		r.Write([]byte(line), n)
		n += uint64(len(line))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err = OpenRing(path); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first, err := r.Page(1, 3, nil)
	if err != nil || len(first.Lines) != 3 || !strings.HasPrefix(string(first.Lines[2].Text), "line 3 ") || first.Next != 4 {
		t.Fatalf("first page %+v, %v", first, err)
	}
	last, err := r.Last(200)
	if err != nil || len(last.Lines) != 200 || last.Lines[199].N != 400_000 || last.TotalLines != 400_000 || last.TotalBytes != n {
		t.Fatalf("last page: %d lines, %v", len(last.Lines), err)
	}
	if got := string(last.Lines[0].Text); !strings.HasPrefix(got, "line 399801 ") {
		t.Fatalf("line 399801 is %q", got)
	}
	mid, err := r.Page(200_000, 10, nil)
	if err != nil || len(mid.Lines) == 0 || mid.Lines[0].Missing == 0 {
		t.Fatalf("the gap is not marked: %+v, %v", mid, err)
	}
	found, err := r.Page(1, 5, func(l Line) bool { return bytes.Contains(l.Text, []byte("399999 ")) })
	if err != nil || len(found.Lines) < 1 || found.Lines[len(found.Lines)-1].N != 399_999 {
		t.Fatalf("search: %+v, %v", found.Lines, err)
	}
}

// TestRingTakesOutputDuringASearch: selecting lines may take time, and what is
// overwritten meanwhile is missing, not wrong.
func TestRingTakesOutputDuringASearch(t *testing.T) {
	r, err := newRing(&disk{})
	if err != nil {
		t.Fatal(err)
	}
	n, lines := uint64(0), 0
	write := func(size int) {
		for end := n + uint64(size); n < end; {
			lines++
			line := fmt.Sprintf("line %d %s\n", lines, strings.Repeat(".", 1000))
			r.Write([]byte(line), n)
			n += uint64(len(line))
		}
	}
	write(RingHead + RingTail + 1<<20)
	asked, floods := 0, 0
	last := uint64(0)
	p, err := r.Page(1, 1_000_000, func(l Line) bool {
		if asked++; asked == 10 || asked == 2000 {
			floods++
			write(RingTail / 2 * floods)
		}
		want := fmt.Sprintf("line %d .", l.N)
		if !l.Cut && !strings.HasPrefix(string(l.Text), want) {
			t.Fatalf("line %d is %.40q", l.N, l.Text)
		}
		if l.N <= last {
			t.Fatalf("line %d after %d", l.N, last)
		}
		last = l.N
		return l.N%500 == 0
	})
	if err != nil || floods != 2 {
		t.Fatalf("%d floods, %v", floods, err)
	}
	if p.Next != uint64(lines)+1 || last != uint64(lines) {
		t.Errorf("it ends at line %d, next %d, of %d", last, p.Next, lines)
	}
	missing, at := 0, uint64(0)
	for _, l := range p.Lines {
		if l.N < at {
			t.Errorf("line %d after %d", l.N, at)
		}
		at = l.N
		if l.Missing > 0 {
			missing++
		}
	}
	if missing < 2 {
		t.Errorf("%d marks of what is missing", missing)
	}
}

func TestRingRefusesAnotherFile(t *testing.T) {
	if _, err := newRing(&disk{data: bytes.Repeat([]byte("x"), 5000)}); !errors.Is(err, errRing) {
		t.Fatalf("a file that is not a ring: %v", err)
	}
}

func TestRingOpenLine(t *testing.T) {
	r, _ := newRing(&disk{})
	if r.OpenLine() {
		t.Error("no output has an open line")
	}
	r.Write([]byte("name: "), 0)
	if !r.OpenLine() {
		t.Error("a prompt is not an open line")
	}
	r.Write([]byte("x\n"), 6)
	if r.OpenLine() {
		t.Error("a line end counts as an open line")
	}
}

func BenchmarkRingPage(b *testing.B) {
	r, err := OpenRing(filepath.Join(b.TempDir(), "ring"))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	block := bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 640)
	for n := 0; n < 100<<20; n += len(block) {
		r.Write(block, uint64(n))
	}
	total, _ := r.Last(1)
	pages := []uint64{1, 5000, total.TotalLines / 2, total.TotalLines - 70_000, total.TotalLines - 200}
	for b.Loop() {
		for _, first := range pages {
			if _, err := r.Page(first, 200, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(pages)), "ms/page")
}

// TestRingSpill: what a full disk does not take is read from memory, and
// written once there is space.
func TestRingSpill(t *testing.T) {
	d := &disk{}
	r, err := newRing(d)
	if err != nil {
		t.Fatal(err)
	}
	r.SetSpill(SpillFront)
	var all []byte
	write := func(n int) {
		p := bytes.Repeat([]byte{byte('a' + len(all)%26)}, n-1)
		r.Write(append(p, '\n'), uint64(len(all)))
		all = append(append(all, p...), '\n')
	}
	whole := func(when string, r *Ring) {
		t.Helper()
		for at := uint64(0); at < uint64(len(all)); {
			data, next, missing, err := r.Read(at, 100_000)
			if err != nil || missing > 0 || !bytes.Equal(data, all[at:next]) {
				t.Fatalf("%s: at %d: %d bytes, %d are missing, %v", when, at, len(data), missing, err)
			}
			at = next
		}
	}
	write(700_000)
	d.full = true
	write(500_000)
	write(900_000)
	whole("on a full disk", r)
	d.full = false
	write(10)
	whole("afterwards", r)
	if r, err = newRing(d); err != nil {
		t.Fatal(err)
	}
	whole("after a restart", r)

	none := MemoryRing(unix.ENOSPC)
	none.SetSpill(SpillFront)
	none.Write(all, 0)
	whole("without a file", none)
	none.SetSpill(0)
	if _, _, missing, err := none.Read(0, 10); err != nil || missing != uint64(len(all)-spillBack) {
		t.Errorf("in the background %d bytes are missing, %v", missing, err)
	}
}
