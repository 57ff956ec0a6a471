package mux

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// A journal holds the output that is not in a snapshot yet, so that a new
// server has every byte. It is memory that the keeper holds beside the
// terminal's master: two segments that are used in turn, and before each the
// snapshot of the screen at its beginning.
//
//	0        segment 0, raw output
//	8 MiB    segment 1
//	16 MiB   snapshot at the beginning of segment 0
//	80 MiB   snapshot at the beginning of segment 1
//	144 MiB  the nudge under way, what the program said it is doing, and how much
//	         was typed by each client
//
// A segment is 128 KiB long, or 512 KiB while the output comes fast, or twice as
// long as its snapshot where the screen is a large and colourful one, so that
// snapshots never cost more than the output does. History is not in it: see
// historyFile.
//
// read(2) goes straight into the mapped segment, behind its length; then the
// length moves, then the screen is fed. What lies behind the length is zero,
// and a NUL is nothing to a terminal: after a crash, bytes that are not zero
// there are a read whose length was not moved. Everything is sparse: what is
// not used takes no memory, and what was used is given back: at once, or when a
// busy session rests.
//
// What changes the screen and is no output (a resize, a cleared history) begins
// a new segment, with the changed screen as its snapshot. So the order of
// things is always that of the bytes, and no list of such marks is needed.
const (
	segmentArea  = 8 << 20
	segmentLeast = 128 << 10
	segmentBurst = 4 * segmentLeast
	segmentPad   = 4096 // a read of a terminal gives at most this much
	snapshotArea = 2 * segmentArea
	snapshotMax  = 64 << 20
	journalSize  = typedArea + typedMarks*typedPlace
)

// slot is a journal's header, in the table that all journals share: a page
// each would cost more than an idle session otherwise takes. Every field is
// written by one store, so that a kill leaves the old or the new value.
type slot struct {
	turn    atomic.Uint64    // number of segments begun; its last bit is the one in use
	length  [2]atomic.Uint64 // bytes in each segment
	base    [2]atomic.Uint64 // offset of each segment in the session's output
	snap    [2]atomic.Uint64 // bytes of each snapshot; 0: a fresh terminal
	mark    [2]atomic.Uint64 // bytes at the beginning of each snapshot that are the history's mark
	effect  atomic.Uint64    // offset up to which replies and events went out
	lastIn  atomic.Int64     // Unix nanoseconds
	lastOut atomic.Int64
	tries   atomic.Uint64 // replays that began and did not end, see session.guilty
	flags   atomic.Uint64

	aheadDone atomic.Uint64 // bytes of the nudge under way that the terminal took
	aheadNext atomic.Uint64 // and would have with the write that was begun
	nudges    [nudgeMemory]nudgeMark
}

// nudgeMark says how far a nudge came, for a server after a crash: it is
// finished or reported, never repeated.
type nudgeMark struct {
	id    atomic.Uint64 // hash of the nudge's id; 0: free
	stage atomic.Uint64
}

// nudge is the mark of a nudge that is known; nil for any other.
func (s *slot) nudge(key uint64) *nudgeMark {
	for i := range s.nudges {
		if s.nudges[i].id.Load() == key {
			return &s.nudges[i]
		}
	}
	return nil
}

// nudgeMemory is how many of a session's last nudges are known after a crash.
const nudgeMemory = 8

const (
	slotSize  = 256
	tableSize = 65536 // slots; sparse
)

// A slot is as large as its place in the table, which servers of every version
// share: neither of these compiles otherwise.
var (
	_ [slotSize - unsafe.Sizeof(slot{})]struct{}
	_ [unsafe.Sizeof(slot{}) - slotSize]struct{}
)

// flags of a slot.
const (
	flagLost   = 1 << 0 // the screen was lost
	flagPrompt = 1 << 1 // a shell prompt is open
	flagEnded  = 1 << 2 // the end was announced
	flagBare   = 1 << 3 // the snapshot in use has no screen: it was too large

	// Bits 8 to 15: index of the nudge mark that is overwritten next, so that it
	// is the oldest, whichever server wrote it.
	nextMarkShift = 8

	remadeShift = 32 // the upper half counts how often the screen was made anew
)

// takeMark returns the oldest nudge mark and makes the one after it the oldest.
func (s *slot) takeMark() *nudgeMark {
	for {
		old := s.flags.Load()
		i := old >> nextMarkShift & 0xff % nudgeMemory
		next := old&^(0xff<<nextMarkShift) | (i+1)%nudgeMemory<<nextMarkShift
		if s.flags.CompareAndSwap(old, next) {
			return &s.nudges[i]
		}
	}
}

// slotTable is the table of headers.
type slotTable struct {
	mem []byte

	mu   sync.Mutex
	used []bool
	low  int // no free slot is below
}

var errNoSlot = errors.New("too many sessions")

// mapTable maps the memory behind fd, which stays the caller's.
func mapTable(fd int) (*slotTable, error) {
	mem, err := unix.Mmap(fd, 0, slotSize*tableSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the table of journals: %w", err)
	}
	return &slotTable{mem: mem}, nil
}

// at returns a slot.
func (t *slotTable) at(i int) *slot {
	return (*slot)(unsafe.Pointer(&t.mem[i*slotSize]))
}

// take marks a slot as used; false when it is taken or not there.
func (t *slotTable) take(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i < 0 || i >= tableSize {
		return false
	}
	for len(t.used) <= i {
		t.used = append(t.used, false)
	}
	if t.used[i] {
		return false
	}
	t.used[i] = true
	return true
}

// alloc returns a free slot, zeroed.
func (t *slotTable) alloc() (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.low
	for i < len(t.used) && t.used[i] {
		i++
	}
	if i >= tableSize {
		return -1, errNoSlot
	}
	if i == len(t.used) {
		t.used = append(t.used, false)
	}
	t.used[i], t.low = true, i+1
	clear(t.mem[i*slotSize : (i+1)*slotSize])
	return i, nil
}

// release gives a slot back.
func (t *slotTable) release(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i >= 0 && i < len(t.used) && t.used[i] {
		t.used[i] = false
		t.low = min(t.low, i)
	}
}

// journal is one session's. Its owner serialises all calls.
type journal struct {
	*slot
	fd    int
	mem   []byte       // both segments
	room  uint64       // bytes that the segment in use may have
	most  int          // bytes that a snapshot may have
	begun time.Time    // when it was
	warm  [2]footprint // what each half may take beside what is in use
}

// footprint is how far memory was used, in bytes from the beginning of a
// segment and of a snapshot.
type footprint struct{ segment, snapshot int64 }

// busyTime is in how little time a program must fill a segment to have the next
// one in memory that is kept for it.
const busyTime = time.Second

// burstRate is how many bytes must come in a second for the next segment to be
// longer. A new server replays what is in the segments: as all programs share
// what it can show in a second, only a few of them are so fast at a time, and
// the replay of all stays short.
const burstRate = 8 << 20

// openJournal maps the memory behind fd, which is taken over.
func openJournal(fd int, s *slot) (*journal, error) {
	mem, err := unix.Mmap(fd, 0, 2*segmentArea, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("map a journal: %w", err)
	}
	return &journal{slot: s, fd: fd, mem: mem, room: segmentLeast, most: snapshotMax}, nil
}

// journalPlace is how far a journal came.
type journalPlace struct{ turn, length uint64 }

func (j *journal) place() journalPlace {
	return journalPlace{j.turn.Load(), j.length[j.current()].Load()}
}

// current is the segment in use.
func (j *journal) current() int { return int(j.turn.Load() & 1) }

// segment returns all of segment i, as long as it can have become.
func (j *journal) segment(i int) []byte {
	n := min(max(segmentBurst, 2*j.snap[i].Load()), segmentArea)
	return j.mem[i*segmentArea:][:n]
}

// space is where the next read goes: zeros behind the length.
func (j *journal) space() []byte {
	i := j.current()
	n := j.length[i].Load()
	return j.segment(i)[n:max(n, j.room)]
}

// commit takes n bytes at the beginning of space into the journal.
func (j *journal) commit(n int) {
	l := &j.length[j.current()]
	l.Store(l.Load() + uint64(n))
}

// from returns the bytes of the segment in use from an offset of the
// session's output on.
func (j *journal) from(offset uint64) []byte {
	i := j.current()
	base, n := j.base[i].Load(), j.length[i].Load()
	if offset < base || offset > base+n {
		return nil
	}
	return j.segment(i)[offset-base : n]
}

// start is the offset of the segment in use.
func (j *journal) start() uint64 { return j.base[j.current()].Load() }

// end is the offset behind the last byte.
func (j *journal) end() uint64 {
	i := j.current()
	return j.base[i].Load() + j.length[i].Load()
}

// begin starts the next segment: snapshot is the screen with every byte so far,
// mark that of the history's file, in parts. One store makes it the segment in
// use; a kill before it leaves the old one, complete.
func (j *journal) begin(mark [][]byte, snapshot []byte) error {
	size := 0
	for _, p := range mark {
		size += len(p)
	}
	if size+len(snapshot) > j.most {
		return fmt.Errorf("%w: a snapshot of %d bytes", api.ErrTooLarge, size+len(snapshot))
	}
	old := j.current()
	next := 1 - old
	now := time.Now()
	took := now.Sub(j.begun)
	j.begun = now
	if err := errors.Join(snapshotFault(), writeAt(j.fd, snapshotOffset(next), append(mark, snapshot)...)); err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	j.snap[next].Store(uint64(size + len(snapshot)))
	j.mark[next].Store(uint64(size))
	j.base[next].Store(j.end())
	j.length[next].Store(0)
	j.turn.Add(1)
	j.room = segmentLeast
	if n := j.length[old].Load(); n > segmentLeast-segmentPad && float64(n) > burstRate*took.Seconds() {
		j.room = segmentBurst
	}
	j.room = min(max(j.room, 2*j.snap[next].Load()), segmentArea)
	j.wipe(old, took < busyTime)
	return nil
}

// snapshotFault is asked before a snapshot is written; tests replace it to have
// no memory for one.
var snapshotFault = func() error { return nil }

// wipe zeroes segment i. A busy program fills it again at once: for it the
// memory stays, unless there is much of it, until the session rests.
func (j *journal) wipe(i int, busy bool) {
	seg := j.segment(i)
	n := min(j.length[i].Load(), uint64(len(seg)))
	w := &j.warm[i]
	w.segment, w.snapshot = max(w.segment, wholePages(n)), max(w.snapshot, int64(j.snap[i].Load()))
	if busy && w.segment+w.snapshot <= 2*segmentBurst {
		clear(seg[:n])
	} else {
		j.releaseHalf(i)
	}
}

// release gives back what nothing is in.
func (j *journal) release() {
	for i := range j.warm {
		j.releaseHalf(i)
	}
}

// releaseHalf gives back what half i takes and does not use.
func (j *journal) releaseHalf(i int) {
	w := j.warm[i]
	j.warm[i] = footprint{}
	var segment, snapshot int64
	if i == j.current() {
		segment, snapshot = wholePages(j.length[i].Load()), wholePages(j.snap[i].Load())
	}
	if w.segment > segment {
		sys.PunchHole(j.fd, int64(i)*segmentArea+segment, j.mem[i*segmentArea:][segment:w.segment])
	}
	if w.snapshot > snapshot {
		_ = sys.PunchHoleFile(j.fd, snapshotOffset(i)+snapshot, w.snapshot-snapshot)
	}
}

// wholePages rounds n up to whole pages of memory.
func wholePages(n uint64) int64 { return int64(n+segmentPad-1) / segmentPad * segmentPad }

func snapshotOffset(i int) int64 { return snapshotArea + int64(i)*snapshotMax }

// leftover is what a dead server left: the history's mark and the snapshot
// (empty: a fresh terminal), the offset behind it, and every byte of output
// since, those of a read included whose length was not moved.
type leftover struct {
	mark, snapshot []byte
	base           uint64
	data           []byte // of the mapped segment
}

// recovered returns it.
func (j *journal) recovered() (leftover, error) {
	i := j.current()
	seg := j.segment(i)
	n := min(j.length[i].Load(), uint64(len(seg)))
	// Memory that was never touched must not be by looking at it.
	most := max(int(n), sys.DataEnd(j.fd, int64(i)*segmentArea+int64(n), len(seg)-int(n))+int(n))
	end := most
	for uint64(end) > n && seg[end-1] == 0 {
		end--
	}
	if uint64(end) > n {
		j.length[i].Store(uint64(end))
	}
	j.warm[i].segment = wholePages(uint64(most))
	// A kill while the last segment was wiped leaves it dirty.
	sys.PunchHole(j.fd, int64(1-i)*segmentArea, j.mem[(1-i)*segmentArea:][:segmentArea])
	j.warm[1-i].snapshot = int64(min(j.snap[1-i].Load(), snapshotMax))
	b := make([]byte, min(j.snap[i].Load(), snapshotMax))
	if err := readAt(j.fd, b, snapshotOffset(i)); err != nil {
		return leftover{}, fmt.Errorf("read a snapshot: %w", err)
	}
	k := min(j.mark[i].Load(), uint64(len(b)))
	return leftover{mark: b[:k], snapshot: b[k:], base: j.base[i].Load(), data: seg[:j.length[i].Load()]}, nil
}

// close unmaps the journal. What the keeper holds stays.
func (j *journal) close() {
	_ = unix.Munmap(j.mem)
	unix.Close(j.fd)
	j.mem, j.fd = nil, -1
}

// writeAt writes parts one behind the other, and changes the list of them.
func writeAt(fd int, off int64, parts ...[]byte) error {
	for len(parts) > 0 {
		n, err := unix.Pwritev(fd, parts, off)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		off += int64(n)
		for len(parts) > 0 && n >= len(parts[0]) {
			n -= len(parts[0])
			parts = parts[1:]
		}
		if n > 0 {
			parts[0] = parts[0][n:]
		}
	}
	return nil
}

// errShort is memory that an older server made smaller.
var errShort = errors.New("it is cut short")

func readAt(fd int, p []byte, off int64) error {
	for len(p) > 0 {
		n, err := unix.Pread(fd, p, off)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return errShort
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}
