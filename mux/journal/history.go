package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/vt"
)

// errHistory is a history file or its mark that cannot be read.
var errHistory = errors.New("damaged history")

// History keeps the sealed pages of a session's history in a file below
// the state directory. Appending never waits for the disk: a page waits in
// memory, and in the snapshots that are taken meanwhile, until the server's
// writer has brought it there. So the file needs no order of its own: after a
// crash the snapshot says where the next page goes, and what stands behind that
// is written over.
//
// A page stands at a block of the file, behind its CRC-32C (4 bytes, little
// endian). Its number is the block and its length, so that there is no index.
type History struct {
	Path   string
	Writer *Writer

	mu      sync.Mutex
	end     uint64        // the block behind the last page
	waiting []waitingPage // not in the file yet, oldest first
	dropped []uint64      // the screen does not need them, but the snapshot may
	spare   []uint64      // nobody needs them: their room is given back when they are many
	lost    uint64        // bytes of pages that waited in vain
	failing bool          // the last write failed
	queued  bool          // the writer knows
	removed bool          // the session was collected
}

type waitingPage struct {
	number uint64
	data   []byte
	lent   bool // somebody may still have data when it was written
}

var (
	_ vt.PageDropper = (*History)(nil)
	_ vt.PageBuffers = (*History)(nil)
)

// pageBuffers are the memory, *[]byte, of pages that were written.
var pageBuffers sync.Pool

// Buffer returns memory for a page.
func (f *History) Buffer() []byte {
	if b, ok := pageBuffers.Get().(*[]byte); ok {
		return *b
	}
	return nil
}

const (
	historyBlock = 4096
	historySum   = 4  // bytes of the checksum
	pageLenBits  = 24 // of a page's number
	// How many pages may wait: a slow disk is given time, a full one has its
	// chance to get room. Past it the oldest is lost.
	waitingSlow = 64
	waitingFull = 8
	// And how many bytes: they are in memory, and in every snapshot.
	waitingBytes = 8 << 20
	// How many pages are spare until their room is given back: one call for many.
	spareFew  = 1 // when the disk is full
	spareMany = 16
)

// castagnoli is made by the first who needs it: every gc would pay for it at its
// start.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func pageBlock(number uint64) int64 { return int64(number>>pageLenBits) * historyBlock }
func pageLen(number uint64) int     { return int(number & (1<<pageLenBits - 1)) }

// pageBlocks is how many blocks a page of n bytes takes.
func pageBlocks(n int) uint64 { return uint64(n+historySum+historyBlock-1) / historyBlock }

// Append takes a page over, and returns without I/O.
func (f *History) Append(page []byte) (uint64, error) {
	if len(page) >= 1<<pageLenBits {
		return 0, fmt.Errorf("%w: a page of %d bytes", api.ErrTooLarge, len(page))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	number := f.end<<pageLenBits | uint64(len(page))
	f.end += pageBlocks(len(page))
	f.waiting = append(f.waiting, waitingPage{number: number, data: page})
	most := waitingSlow
	if f.failing {
		most = waitingFull
	}
	lose := max(len(f.waiting)-most, 0)
	for size, i := 0, len(f.waiting)-1; i >= lose; i-- {
		if size += len(f.waiting[i].data); size > waitingBytes {
			lose = i + 1
		}
	}
	for _, p := range f.waiting[:lose] {
		f.lost += uint64(len(p.data))
	}
	f.waiting = slices.Delete(f.waiting, 0, lose)
	f.Writer.enqueue(f)
	return number, nil
}

// LostBytes is how much history did not reach the disk.
func (f *History) LostBytes() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// errPageLost says that a page is not what was written.
var errPageLost = errors.New("a page of history is lost")

// Read returns a page.
func (f *History) Read(number uint64) ([]byte, error) {
	f.mu.Lock()
	for i := range f.waiting {
		if p := &f.waiting[i]; p.number == number {
			p.lent = true
			f.mu.Unlock()
			return p.data, nil
		}
	}
	f.mu.Unlock()
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := make([]byte, historySum+pageLen(number))
	if _, err := file.ReadAt(b, pageBlock(number)); err != nil {
		return nil, err
	}
	if page := b[historySum:]; binary.LittleEndian.Uint32(b) == crc32.Checksum(page, castagnoli()) {
		return page, nil
	}
	return nil, errPageLost
}

// Drop notes that the screen does not need a page. Its room is given back when
// no snapshot refers to it any more.
func (f *History) Drop(number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.waiting {
		if p.number == number { // a snapshot that refers to it holds it
			f.waiting = slices.Delete(f.waiting, i, i+1)
			return
		}
	}
	f.dropped = append(f.dropped, number)
}

// Mark is what a snapshot must hold of the file: uvarints of the end and of the
// number of pages that wait, and of each its number; their bytes; then uvarints
// of how many pages are spare once this snapshot is in use, and their numbers.
func (f *History) Mark() [][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	head := binary.AppendUvarint(nil, f.end)
	head = binary.AppendUvarint(head, uint64(len(f.waiting)))
	for _, p := range f.waiting {
		head = binary.AppendUvarint(head, p.number)
	}
	parts := [][]byte{head}
	for i := range f.waiting {
		f.waiting[i].lent = true
		parts = append(parts, f.waiting[i].data)
	}
	tail := binary.AppendUvarint(nil, uint64(len(f.spare)+len(f.dropped)))
	for _, n := range slices.Concat(f.spare, f.dropped) {
		tail = binary.AppendUvarint(tail, n)
	}
	return append(parts, tail)
}

// Marked notes that the snapshot with the last mark is in use: what was dropped
// before it is needed by nobody.
func (f *History) Marked() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spare = append(f.spare, f.dropped...)
	f.dropped = nil
	if len(f.spare) >= f.spareMost() {
		f.Writer.enqueue(f)
	}
}

// spareMost is how many spare pages are many. mu is held.
func (f *History) spareMost() int {
	if f.failing {
		return spareFew
	}
	return spareMany
}

// Restore goes back to a mark.
func (f *History) Restore(mark []byte) error {
	next := func() uint64 {
		v, n := binary.Uvarint(mark)
		mark = mark[max(n, 0):]
		return v
	}
	end, count := next(), next()
	if count > waitingSlow {
		return fmt.Errorf("%w: %d pages wait", errHistory, count)
	}
	waiting := make([]waitingPage, count)
	for i := range waiting {
		waiting[i].number = next()
	}
	for i := range waiting {
		n := pageLen(waiting[i].number)
		if n > len(mark) {
			return fmt.Errorf("%w: the snapshot's pages are cut short", errHistory)
		}
		waiting[i].data, waiting[i].lent, mark = mark[:n:n], true, mark[n:]
	}
	var spare []uint64
	for range min(next(), uint64(len(mark))) { // older servers wrote none
		spare = append(spare, next())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end, f.waiting, f.dropped, f.spare = end, waiting, nil, spare
	if count > 0 {
		f.Writer.enqueue(f)
	}
	return nil
}

// Remove lets the file go; what is still read of it is lost.
func (f *History) Remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removed, f.waiting, f.spare = true, nil, nil
	f.Writer.enqueue(f)
}

// flush writes what waits. Only the writer calls it.
func (f *History) flush() {
	for {
		p, spare, removed := f.next()
		if removed {
			f.Writer.shut(f)
			_ = os.Remove(f.Path) // never made, perhaps
			return
		}
		if p.data == nil && len(spare) == 0 {
			return
		}
		fd, err := f.Writer.open(f)
		if err == nil {
			giveBackPages(fd, spare)
			err = writePage(fd, p)
		}
		if err != nil {
			f.Writer.shut(f) // another file may stand there when there is room again
		}
		if !f.written(p, err) {
			return
		}
	}
}

// next returns what is to be done: a page to be written, if it has data, and
// pages whose room is given back.
func (f *History) next() (p waitingPage, spare []uint64, removed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queued = false
	if len(f.waiting) > 0 {
		p = f.waiting[0]
	}
	if len(f.spare) >= f.spareMost() {
		spare, f.spare = f.spare, nil
	}
	return p, spare, f.removed
}

// written notes what became of a page; false: it failed.
func (f *History) written(p waitingPage, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && !f.failing {
		slog.Warn("cannot write history", "error", err)
	}
	f.failing = err != nil
	if err == nil && len(f.waiting) > 0 && p.data != nil && &f.waiting[0].data[0] == &p.data[0] {
		if !f.waiting[0].lent {
			data := p.data[:0]
			pageBuffers.Put(&data)
		}
		f.waiting = slices.Delete(f.waiting, 0, 1)
		if len(f.waiting) == 0 {
			f.waiting = nil
		}
	}
	return err == nil
}

// openHistory opens a file to be written, and makes it and its directory when
// they are not there.
func openHistory(path string) (int, error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC
	fd, err := unix.Open(path, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			fd, err = unix.Open(path, flags, 0o600)
		}
	}
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// writePage writes a page, unless it has no data.
func writePage(fd int, p waitingPage) error {
	if p.data == nil {
		return nil
	}
	sum := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(p.data, castagnoli()))
	return writeAt(fd, pageBlock(p.number), sum, p.data)
}

// giveBackPages gives back the room of pages, where the file system can: those
// that stand side by side, as most do, at once.
func giveBackPages(fd int, numbers []uint64) {
	if len(numbers) == 0 {
		return
	}
	slices.Sort(numbers)
	var at, end int64
	for _, n := range numbers {
		if pageBlock(n) != end {
			_ = sys.PunchHoleFile(fd, at, end-at)
			at = pageBlock(n)
		}
		end = pageBlock(n) + int64(pageBlocks(pageLen(n)))*historyBlock
	}
	_ = sys.PunchHoleFile(fd, at, end-at)
}
