package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// Sizes of a ring, in bytes.
const (
	RingHead = 1 << 20 // the first output is always kept
	RingTail = 7 << 20 // and this much of the latest
)

// The file of a ring: a header, the head, and the tail, which stores the byte
// at offset o of the output at (o-RingHead) mod RingTail. The header is written
// after the bytes it counts, in one small write: a kill in between leaves the
// old one, and the bytes come again.
//
//	u64 magic, bytes, lines, last byte, gaps   little endian
//	gaps × u64 from, to, lines      output that could not be written
const (
	ringMagic  = 0x31676e6952636721 // "!gcRing1"
	ringHeader = 4096
	maxGaps    = 64
)

// file is what a ring needs of a file.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// gap is a range of lost output: the disk was full.
type gap struct {
	from, to uint64
	lines    uint64 // line ends in it
}

// Ring keeps the beginning and the end of a command's output on disk. It is safe
// for concurrent use. A write never fails: what the disk does not take stays in
// memory until it does, and what exceeds the memory becomes a gap.
type Ring struct {
	mu    sync.Mutex
	f     file
	total uint64 // bytes
	ends  uint64 // line ends
	last  byte   // of the output
	gaps  []gap
	spill []byte // the end of the output, not on disk
	most  int    // bytes of spill
	err   error  // of the last write
}

// How much a ring keeps in memory while the disk takes nothing: the end for a
// command in the background, otherwise all that its caller may not have read
// yet.
const (
	spillBack  = 64 << 10
	SpillFront = 6 << 20
)

// SetSpill sets how many bytes are kept in memory while the disk takes nothing;
// 0 is the default, for a command in the background.
func (r *Ring) SetSpill(most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most = most; most == 0 {
		r.most = spillBack
	}
	r.shed()
}

// noFile is the file of a ring without one.
type noFile struct{ err error }

func (f noFile) ReadAt([]byte, int64) (int, error)  { return 0, f.err }
func (f noFile) WriteAt([]byte, int64) (int, error) { return 0, f.err }
func (noFile) Close() error                         { return nil }

// MemoryRing returns a ring in memory only, for a disk without room for a file;
// why is the error that said so.
func MemoryRing(why error) *Ring {
	return &Ring{f: noFile{why}, most: spillBack, err: why}
}

// OpenRing opens or creates the ring at path (0600). A file that is not a ring
// is an error and is left as it is.
func OpenRing(path string) (*Ring, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("output ring: %w", err)
	}
	r, err := newRing(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("output ring %s: %w", path, err)
	}
	return r, nil
}

var errRing = errors.New("not an output ring")

func newRing(f file) (*Ring, error) {
	r := &Ring{f: f, most: spillBack}
	head := make([]byte, ringHeader)
	n, err := f.ReadAt(head, 0)
	if n == 0 && errors.Is(err, io.EOF) {
		r.writeHeader()
		return r, nil // a full disk does not prevent a start
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8*i:]) }
	if n < 40 || word(0) != ringMagic || word(4) > maxGaps {
		return nil, errRing
	}
	r.total, r.ends, r.last = word(1), word(2), byte(word(3))
	for i := range int(word(4)) {
		r.gaps = append(r.gaps, gap{word(5 + 3*i), word(6 + 3*i), word(7 + 3*i)})
	}
	return r, nil
}

func (r *Ring) writeHeader() {
	gaps := r.gaps
	for from := r.stored(); from < r.total; { // the next server must not find a part of it
		_, room := place(from)
		to := min(r.total, from+room)
		at := uint64(len(r.spill)) - (r.total - from)
		lines := bytes.Count(r.spill[at:at+to-from], []byte{'\n'})
		gaps = append(slices.Clip(gaps), gap{from, to, uint64(lines)})
		from = to
	}
	b := make([]byte, 0, 40+24*len(gaps))
	for _, v := range []uint64{ringMagic, r.total, r.ends, uint64(r.last), uint64(len(gaps))} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, g := range gaps {
		for _, v := range []uint64{g.from, g.to, g.lines} {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	if _, err := r.f.WriteAt(b, 0); err != nil {
		r.err = err
	}
}

// stored is where the spill begins: everything before it is on disk or a gap.
func (r *Ring) stored() uint64 { return r.total - uint64(len(r.spill)) }

// Close closes the file.
func (r *Ring) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.f.Close()
}

// Total is the number of bytes of output so far, kept or not.
func (r *Ring) Total() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// OpenLine reports whether the output does not end with a newline, as after a
// prompt.
func (r *Ring) OpenLine() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total > 0 && r.last != '\n'
}

// Write adds output at offset. Bytes that it has already are skipped; a hole
// before it becomes a gap.
func (r *Ring) Write(p []byte, offset uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if offset+uint64(len(p)) <= r.total {
		return
	}
	if offset > r.total {
		r.giveUp(len(r.spill))
		r.addGap(gap{from: r.total, to: offset})
		r.total = offset
	}
	p = p[r.total-offset:]
	r.flush()
	for len(p) > 0 && len(r.spill) == 0 {
		at, room := place(r.total)
		part := p[:min(uint64(len(p)), room)]
		if _, err := r.f.WriteAt(part, at); err != nil {
			r.err = err
			break
		}
		r.count(part)
		p = p[len(part):]
	}
	if len(p) > 0 {
		r.spill = append(r.spill, p...)
		r.count(p)
		r.shed()
	}
	r.dropGaps()
	r.writeHeader()
}

// count counts output that is kept.
func (r *Ring) count(p []byte) {
	r.total += uint64(len(p))
	r.ends += uint64(bytes.Count(p, []byte{'\n'}))
	r.last = p[len(p)-1]
}

// flush writes the spill, as far as the disk takes it.
func (r *Ring) flush() {
	for len(r.spill) > 0 {
		at, room := place(r.stored())
		part := r.spill[:min(uint64(len(r.spill)), room)]
		if _, err := r.f.WriteAt(part, at); err != nil {
			r.err = err
			return
		}
		r.spill = r.spill[len(part):]
	}
	r.spill = nil
}

// shed gives up the beginning of a spill that is too long.
func (r *Ring) shed() {
	if len(r.spill) > r.most {
		r.giveUp(len(r.spill) - r.most)
		r.spill = append(make([]byte, 0, r.most+r.most/4), r.spill...)
	}
}

// giveUp makes the first n bytes of the spill a gap.
func (r *Ring) giveUp(n int) {
	for n > 0 {
		from := r.stored()
		_, room := place(from)
		part := r.spill[:min(uint64(n), room)]
		r.spill = r.spill[len(part):]
		r.addGap(gap{from: from, to: from + uint64(len(part)), lines: uint64(bytes.Count(part, []byte{'\n'}))})
		n -= len(part)
	}
}

// place returns where in the file the byte at an offset is, and how many can
// follow it there.
func place(offset uint64) (at int64, room uint64) {
	if offset < RingHead {
		return int64(ringHeader + offset), RingHead - offset
	}
	in := (offset - RingHead) % RingTail
	return int64(ringHeader + RingHead + in), RingTail - in
}

// addGap adds a gap at the end. No gap spans the head and the tail. If there are
// too many, the two nearest become one, and the output between them is given up.
func (r *Ring) addGap(g gap) {
	if n := len(r.gaps); n > 0 && r.gaps[n-1].to == g.from && g.from != RingHead {
		r.gaps[n-1].to, r.gaps[n-1].lines = g.to, r.gaps[n-1].lines+g.lines
		return
	}
	r.gaps = append(r.gaps, g)
	if len(r.gaps) <= maxGaps-2 { // in the header the spill may be two
		return
	}
	best := 1
	for i := 2; i < len(r.gaps); i++ {
		if r.gaps[i].from-r.gaps[i-1].to < r.gaps[best].from-r.gaps[best-1].to {
			best = i
		}
	}
	a, b := &r.gaps[best-1], r.gaps[best]
	between, _ := r.countLines(a.to, b.from)
	a.to, a.lines = b.to, a.lines+between+b.lines
	r.gaps = append(r.gaps[:best], r.gaps[best+1:]...)
}

// tailFrom is the offset of the first byte that the tail keeps.
func (r *Ring) tailFrom() uint64 {
	if r.total <= RingHead+RingTail {
		return RingHead
	}
	return r.total - RingTail
}

// dropGaps forgets gaps that have left the tail.
func (r *Ring) dropGaps() {
	from := r.tailFrom()
	kept := r.gaps[:0]
	for _, g := range r.gaps {
		if g.from < RingHead || g.to > from {
			kept = append(kept, g)
		}
	}
	r.gaps = kept
}

// readRaw fills p from an offset, ignoring gaps.
func (r *Ring) readRaw(p []byte, offset uint64) error {
	for len(p) > 0 {
		if stored := r.stored(); offset >= stored {
			copy(p, r.spill[offset-stored:])
			return nil
		}
		at, room := place(offset)
		n := min(uint64(len(p)), room, r.stored()-offset)
		if _, err := r.f.ReadAt(p[:n], at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		p, offset = p[n:], offset+n
	}
	return nil
}

// countLines counts newlines in a range without a gap.
func (r *Ring) countLines(from, to uint64) (n uint64, err error) {
	buf := make([]byte, min(chunk, to-from))
	for from < to {
		b := buf[:min(uint64(len(buf)), to-from)]
		if err := r.readRaw(b, from); err != nil {
			return n, err
		}
		n += uint64(bytes.Count(b, []byte{'\n'}))
		from += uint64(len(b))
	}
	return n, nil
}

// chunk is how much is read at a time.
const chunk = 256 << 10
