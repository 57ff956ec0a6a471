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

// errHistory means that a history file or its state cannot be read.
var errHistory = errors.New("damaged history")

// History keeps the sealed pages of a session's history in a file below the state
// directory. Appending never waits for the disk: a page stays in memory, and in snapshots
// taken meanwhile, until the Writer has written it. So the file needs no order of writes:
// after a crash the snapshot says where the next page goes, and anything beyond that is
// overwritten.
//
// A page begins at a block of the file with its CRC-32C (4 bytes, little endian). Its
// number is the block and its length, so there is no index.
type History struct {
	Path   string
	Writer *Writer

	mu      sync.Mutex
	end     uint64        // block after the last page
	waiting []waitingPage // not in the file yet, oldest first
	dropped []uint64      // not needed by the screen, but perhaps by the snapshot
	spare   []uint64      // not needed; holes are punched once there are many
	lost    uint64        // bytes of pages that were never written
	failing bool          // the last write failed
	queued  bool          // the Writer has it
	removed bool          // the session was collected
}

type waitingPage struct {
	number uint64
	data   []byte
	lent   bool // a reader may still use data when it was written
}

var (
	_ vt.PageDropper = (*History)(nil)
	_ vt.PageBuffers = (*History)(nil)
)

// pageBuffers holds the memory, *[]byte, of written pages.
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
	// How many pages may wait. A slow disk gets time, and a full one a chance to be
	// emptied; then the oldest page is lost.
	waitingSlow = 64
	waitingFull = 8
	// The same in bytes: they are in memory and in every snapshot.
	waitingBytes = 8 << 20
	// How many pages are spare before holes are punched, many with one call.
	spareFew  = 1 // when the disk is full
	spareMany = 16
)

// castagnoli is made when first needed, not at the start of every gc.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func pageBlock(number uint64) int64 { return int64(number>>pageLenBits) * historyBlock }
func pageLen(number uint64) int     { return int(number & (1<<pageLenBits - 1)) }

// pageBlocks returns how many blocks a page of n bytes takes.
func pageBlocks(n int) uint64 { return uint64(n+historySum+historyBlock-1) / historyBlock }

// Append takes over a page and returns without I/O.
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

// LostBytes returns how much history never reached the disk.
func (f *History) LostBytes() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// errPageLost means that a page differs from what was written.
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

// Drop notes that the screen no longer needs a page. A hole is punched when no snapshot
// refers to it.
func (f *History) Drop(number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.waiting {
		if p.number == number { // a snapshot that refers to it contains it
			f.waiting = slices.Delete(f.waiting, i, i+1)
			return
		}
	}
	f.dropped = append(f.dropped, number)
}

// State returns what a snapshot must contain of the file: uvarints of the end, of the
// number of waiting pages and of their numbers; their bytes; then uvarints of the number
// of pages that are spare once this snapshot is in use, and of their numbers.
func (f *History) State() [][]byte {
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

// StateSaved notes that the snapshot with the last State is in use: pages dropped before
// it are no longer needed.
func (f *History) StateSaved() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spare = append(f.spare, f.dropped...)
	f.dropped = nil
	if len(f.spare) >= f.spareMost() {
		f.Writer.enqueue(f)
	}
}

// spareMost returns how many spare pages are many. mu is held.
func (f *History) spareMost() int {
	if f.failing {
		return spareFew
	}
	return spareMany
}

// Restore returns to a state.
func (f *History) Restore(state []byte) error {
	next := func() uint64 {
		v, n := binary.Uvarint(state)
		state = state[max(n, 0):]
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
		if n > len(state) {
			return fmt.Errorf("%w: the snapshot's pages are truncated", errHistory)
		}
		waiting[i].data, waiting[i].lent, state = state[:n:n], true, state[n:]
	}
	var spare []uint64
	for range min(next(), uint64(len(state))) { // older servers wrote none
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

// Remove removes the file; reads of its pages fail.
func (f *History) Remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removed, f.waiting, f.spare = true, nil, nil
	f.Writer.enqueue(f)
}

// flush writes the waiting pages. Only the Writer calls it.
func (f *History) flush() {
	for {
		p, spare, removed := f.next()
		if removed {
			f.Writer.shut(f)
			_ = os.Remove(f.Path) // it may not exist
			return
		}
		if p.data == nil && len(spare) == 0 {
			return
		}
		fd, err := f.Writer.open(f)
		if err == nil {
			punchPages(fd, spare)
			err = writePage(fd, p)
		}
		if err != nil {
			f.Writer.shut(f) // another file may be there once there is space
		}
		if !f.written(p, err) {
			return
		}
	}
}

// next returns what to do: write a page, if it has data, and punch holes for the others.
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

// written handles the result of a write.
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

// openHistory opens a file for writing, and makes it and its directory if they are
// missing.
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

// punchPages punches holes for pages where the file system can; adjacent pages, which
// most are, with one call.
func punchPages(fd int, numbers []uint64) {
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
