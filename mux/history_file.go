package mux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"gascity.dev/gc/vt"
)

// historyFile keeps the sealed pages of a session's history in a file below
// the state directory. Appending never waits for the disk: a page waits in
// memory, and in the snapshots that are taken meanwhile, until the server's
// writer has brought it there. So the file needs no order of its own: after a
// crash the snapshot says where the next page goes, and what stands behind that
// is written over.
//
// A page stands at a block of the file, behind its CRC-32C (4 bytes, little
// endian). Its number is the block and its length, so that there is no index.
type historyFile struct {
	path   string
	writer *historyWriter

	mu      sync.Mutex
	end     uint64        // the block behind the last page
	waiting []waitingPage // not in the file yet, oldest first
	dropped []uint64      // the screen does not need them, but the snapshot may
	holes   []uint64      // nobody needs them: their room is given back
	failing bool          // the last write failed
	queued  bool          // the writer knows
	removed bool          // the session was collected
}

type waitingPage struct {
	number uint64
	data   []byte
}

var _ vt.PageDropper = (*historyFile)(nil)

const (
	historyBlock = 4096
	historySum   = 4  // bytes of the checksum
	pageLenBits  = 24 // of a page's number
	// How many pages may wait: a slow disk is given time, a full one has its
	// chance to get room. Past it the oldest is lost.
	waitingSlow = 64
	waitingFull = 8
)

// castagnoli is made by the first who needs it: every gc would pay for it at its
// start.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func pageBlock(number uint64) int64 { return int64(number>>pageLenBits) * historyBlock }
func pageLen(number uint64) int     { return int(number & (1<<pageLenBits - 1)) }

// pageBlocks is how many blocks a page of n bytes takes.
func pageBlocks(n int) uint64 { return uint64(n+historySum+historyBlock-1) / historyBlock }

// Append takes a page over, and returns without I/O.
func (f *historyFile) Append(page []byte) (uint64, error) {
	if len(page) >= 1<<pageLenBits {
		return 0, fmt.Errorf("%w: a page of %d bytes", ErrTooLarge, len(page))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	number := f.end<<pageLenBits | uint64(len(page))
	f.end += pageBlocks(len(page))
	f.waiting = append(f.waiting, waitingPage{number, page})
	most := waitingSlow
	if f.failing {
		most = waitingFull
	}
	if n := len(f.waiting) - most; n > 0 {
		f.waiting = slices.Delete(f.waiting, 0, n)
	}
	f.writer.enqueue(f)
	return number, nil
}

// errPageLost says that a page is not what was written.
var errPageLost = errors.New("a page of history is lost")

// Read returns a page.
func (f *historyFile) Read(number uint64) ([]byte, error) {
	f.mu.Lock()
	for _, p := range f.waiting {
		if p.number == number {
			f.mu.Unlock()
			return p.data, nil
		}
	}
	f.mu.Unlock()
	file, err := os.Open(f.path)
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
func (f *historyFile) Drop(number uint64) {
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

// mark is what a snapshot must hold of the file: uvarints of the end and of the
// number of pages that wait, and of each its number and its bytes.
func (f *historyFile) mark() [][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	head := binary.AppendUvarint(nil, f.end)
	head = binary.AppendUvarint(head, uint64(len(f.waiting)))
	for _, p := range f.waiting {
		head = binary.AppendUvarint(head, p.number)
	}
	parts := [][]byte{head}
	for _, p := range f.waiting {
		parts = append(parts, p.data)
	}
	return parts
}

// marked notes that the snapshot with the last mark is in use: what was dropped
// before it is needed by nobody.
func (f *historyFile) marked() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dropped) > 0 {
		f.holes = append(f.holes, f.dropped...)
		f.dropped = nil
		f.writer.enqueue(f)
	}
}

// restore goes back to a mark.
func (f *historyFile) restore(mark []byte) error {
	next := func() uint64 {
		v, n := binary.Uvarint(mark)
		mark = mark[max(n, 0):]
		return v
	}
	end, count := next(), next()
	if count > waitingSlow {
		return fmt.Errorf("%w: %d pages wait", errProtocol, count)
	}
	waiting := make([]waitingPage, count)
	for i := range waiting {
		waiting[i].number = next()
	}
	for i := range waiting {
		n := pageLen(waiting[i].number)
		if n > len(mark) {
			return fmt.Errorf("%w: the snapshot's pages are cut short", errProtocol)
		}
		waiting[i].data, mark = mark[:n:n], mark[n:]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end, f.waiting, f.dropped = end, waiting, nil
	if count > 0 {
		f.writer.enqueue(f)
	}
	return nil
}

// remove lets the file go; what is still read of it is lost.
func (f *historyFile) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removed, f.waiting, f.holes = true, nil, nil
	f.writer.enqueue(f)
}

// flush writes what waits. Only the writer calls it.
func (f *historyFile) flush() {
	var file *os.File
	defer func() {
		if file != nil {
			file.Close()
		}
	}()
	for {
		f.mu.Lock()
		f.queued = false
		removed, holes := f.removed, f.holes
		f.holes = nil
		var p waitingPage
		if len(f.waiting) > 0 {
			p = f.waiting[0]
		}
		f.mu.Unlock()
		if removed {
			_ = os.Remove(f.path) // never made, perhaps
			return
		}
		if p.data == nil && len(holes) == 0 {
			return
		}
		var err error
		if file == nil {
			file, err = openHistory(f.path)
		}
		if err == nil {
			err = writeHistory(file, p, holes)
		}
		if !f.written(p, err) {
			return
		}
	}
}

// written notes what became of a page; false: it failed.
func (f *historyFile) written(p waitingPage, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && !f.failing {
		logf("history: %v", err)
	}
	f.failing = err != nil
	if err == nil && len(f.waiting) > 0 && p.data != nil && &f.waiting[0].data[0] == &p.data[0] {
		f.waiting = slices.Delete(f.waiting, 0, 1)
		if len(f.waiting) == 0 {
			f.waiting = nil
		}
	}
	return err == nil
}

func openHistory(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
		}
	}
	return file, err
}

// writeHistory writes a page, unless it has no data, and gives back the room of
// others, where the file system can.
func writeHistory(file *os.File, p waitingPage, holes []uint64) error {
	for _, n := range holes {
		_ = giveBackFile(int(file.Fd()), pageBlock(n), int64(pageBlocks(pageLen(n)))*historyBlock)
	}
	if p.data == nil {
		return nil
	}
	sum := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(p.data, castagnoli()))
	if _, err := file.WriteAt(sum, pageBlock(p.number)); err != nil {
		return err
	}
	_, err := file.WriteAt(p.data, pageBlock(p.number)+historySum)
	return err
}
