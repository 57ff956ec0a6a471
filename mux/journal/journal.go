package journal

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
// History.
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
	SegmentArea  = 8 << 20
	SegmentLeast = 128 << 10
	SegmentBurst = 4 * SegmentLeast
	SegmentPad   = 4096 // a read of a terminal gives at most this much
	snapshotArea = 2 * SegmentArea
	snapshotMax  = 64 << 20
	Size         = typedArea + TypedMarks*typedPlace
)

// Slot is a journal's header, in the table that all journals share: a page
// each would cost more than an idle session otherwise takes. Every field is
// written by one store, so that a kill leaves the old or the new value.
type Slot struct {
	Turn    atomic.Uint64    // number of segments begun; its last bit is the one in use
	Length  [2]atomic.Uint64 // bytes in each segment
	base    [2]atomic.Uint64 // offset of each segment in the session's output
	Snap    [2]atomic.Uint64 // bytes of each snapshot; 0: a fresh terminal
	mark    [2]atomic.Uint64 // bytes at the beginning of each snapshot that are the history's mark
	Effect  atomic.Uint64    // offset up to which replies and events went out
	LastIn  atomic.Int64     // Unix nanoseconds
	LastOut atomic.Int64
	Tries   atomic.Uint64 // replays that began and did not end
	Flags   atomic.Uint64

	AheadDone atomic.Uint64 // bytes of the nudge under way that the terminal took
	AheadNext atomic.Uint64 // and would have with the write that was begun
	Nudges    [NudgeMemory]NudgeMark
}

// NudgeMark says how far a nudge came, for a server after a crash: it is
// finished or reported, never repeated.
type NudgeMark struct {
	ID    atomic.Uint64 // hash of the nudge's id; 0: free
	Stage atomic.Uint64
}

// Nudge is the mark of a nudge that is known; nil for any other.
func (s *Slot) Nudge(key uint64) *NudgeMark {
	for i := range s.Nudges {
		if s.Nudges[i].ID.Load() == key {
			return &s.Nudges[i]
		}
	}
	return nil
}

// NudgeMemory is how many of a session's last nudges are known after a crash.
const NudgeMemory = 8

const (
	SlotSize  = 256
	TableSize = 65536 // slots; sparse
)

// A slot is as large as its place in the table, which servers of every version
// share: neither of these compiles otherwise.
var (
	_ [SlotSize - unsafe.Sizeof(Slot{})]struct{}
	_ [unsafe.Sizeof(Slot{}) - SlotSize]struct{}
)

// flags of a slot.
const (
	FlagLost   = 1 << 0 // the screen was lost
	FlagPrompt = 1 << 1 // a shell prompt is open
	FlagEnded  = 1 << 2 // the end was announced
	FlagBare   = 1 << 3 // the snapshot in use has no screen: it was too large

	// Bits 8 to 15: index of the nudge mark that is overwritten next, so that it
	// is the oldest, whichever server wrote it.
	nextMarkShift = 8

	RemadeShift = 32 // the upper half counts how often the screen was made anew
)

// TakeMark returns the oldest nudge mark and makes the one after it the oldest.
func (s *Slot) TakeMark() *NudgeMark {
	for {
		old := s.Flags.Load()
		i := old >> nextMarkShift & 0xff % NudgeMemory
		next := old&^(0xff<<nextMarkShift) | (i+1)%NudgeMemory<<nextMarkShift
		if s.Flags.CompareAndSwap(old, next) {
			return &s.Nudges[i]
		}
	}
}

// Table is the table of headers.
type Table struct {
	Mem []byte

	mu   sync.Mutex
	used []bool
	low  int // no free slot is below
}

var errNoSlot = errors.New("too many sessions")

// MapTable maps the memory behind fd, which stays the caller's.
func MapTable(fd int) (*Table, error) {
	mem, err := unix.Mmap(fd, 0, SlotSize*TableSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the table of journals: %w", err)
	}
	return &Table{Mem: mem}, nil
}

// At returns a slot.
func (t *Table) At(i int) *Slot {
	return (*Slot)(unsafe.Pointer(&t.Mem[i*SlotSize]))
}

// Take marks a slot as used; false when it is taken or not there.
func (t *Table) Take(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i < 0 || i >= TableSize {
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

// Alloc returns a free slot, zeroed.
func (t *Table) Alloc() (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.low
	for i < len(t.used) && t.used[i] {
		i++
	}
	if i >= TableSize {
		return -1, errNoSlot
	}
	if i == len(t.used) {
		t.used = append(t.used, false)
	}
	t.used[i], t.low = true, i+1
	clear(t.Mem[i*SlotSize : (i+1)*SlotSize])
	return i, nil
}

// Release gives a slot back.
func (t *Table) Release(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i >= 0 && i < len(t.used) && t.used[i] {
		t.used[i] = false
		t.low = min(t.low, i)
	}
}

// Journal is one session's. Its owner serialises all calls.
type Journal struct {
	*Slot
	Fd    int
	Mem   []byte       // both segments
	Room  uint64       // bytes that the segment in use may have
	Most  int          // bytes that a snapshot may have
	Begun time.Time    // when it was
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

// Open maps the memory behind fd, which is taken over.
func Open(fd int, s *Slot) (*Journal, error) {
	mem, err := unix.Mmap(fd, 0, 2*SegmentArea, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("map a journal: %w", err)
	}
	return &Journal{Slot: s, Fd: fd, Mem: mem, Room: SegmentLeast, Most: snapshotMax}, nil
}

// Place is how far a journal came.
type Place struct{ turn, length uint64 }

func (j *Journal) Place() Place {
	return Place{j.Turn.Load(), j.Length[j.Current()].Load()}
}

// Current is the segment in use.
func (j *Journal) Current() int { return int(j.Turn.Load() & 1) }

// segment returns all of segment i, as long as it can have become.
func (j *Journal) segment(i int) []byte {
	n := min(max(SegmentBurst, 2*j.Snap[i].Load()), SegmentArea)
	return j.Mem[i*SegmentArea:][:n]
}

// Space is where the next read goes: zeros behind the length.
func (j *Journal) Space() []byte {
	i := j.Current()
	n := j.Length[i].Load()
	return j.segment(i)[n:max(n, j.Room)]
}

// Commit takes n bytes at the beginning of space into the journal.
func (j *Journal) Commit(n int) {
	l := &j.Length[j.Current()]
	l.Store(l.Load() + uint64(n))
}

// From returns the bytes of the segment in use from an offset of the
// session's output on.
func (j *Journal) From(offset uint64) []byte {
	i := j.Current()
	base, n := j.base[i].Load(), j.Length[i].Load()
	if offset < base || offset > base+n {
		return nil
	}
	return j.segment(i)[offset-base : n]
}

// Start is the offset of the segment in use.
func (j *Journal) Start() uint64 { return j.base[j.Current()].Load() }

// End is the offset behind the last byte.
func (j *Journal) End() uint64 {
	i := j.Current()
	return j.base[i].Load() + j.Length[i].Load()
}

// Begin starts the next segment: snapshot is the screen with every byte so far,
// mark that of the history's file, in parts. One store makes it the segment in
// use; a kill before it leaves the old one, complete.
func (j *Journal) Begin(mark [][]byte, snapshot []byte) error {
	size := 0
	for _, p := range mark {
		size += len(p)
	}
	if size+len(snapshot) > j.Most {
		return fmt.Errorf("%w: a snapshot of %d bytes", api.ErrTooLarge, size+len(snapshot))
	}
	old := j.Current()
	next := 1 - old
	now := time.Now()
	took := now.Sub(j.Begun)
	j.Begun = now
	if err := errors.Join(SnapshotFault(), writeAt(j.Fd, snapshotOffset(next), append(mark, snapshot)...)); err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	j.Snap[next].Store(uint64(size + len(snapshot)))
	j.mark[next].Store(uint64(size))
	j.base[next].Store(j.End())
	j.Length[next].Store(0)
	j.Turn.Add(1)
	j.Room = SegmentLeast
	if n := j.Length[old].Load(); n > SegmentLeast-SegmentPad && float64(n) > burstRate*took.Seconds() {
		j.Room = SegmentBurst
	}
	j.Room = min(max(j.Room, 2*j.Snap[next].Load()), SegmentArea)
	j.wipe(old, took < busyTime)
	return nil
}

// SnapshotFault is asked before a snapshot is written; tests replace it to have
// no memory for one.
var SnapshotFault = func() error { return nil }

// wipe zeroes segment i. A busy program fills it again at once: for it the
// memory stays, unless there is much of it, until the session rests.
func (j *Journal) wipe(i int, busy bool) {
	seg := j.segment(i)
	n := min(j.Length[i].Load(), uint64(len(seg)))
	w := &j.warm[i]
	w.segment, w.snapshot = max(w.segment, WholePages(n)), max(w.snapshot, int64(j.Snap[i].Load()))
	if busy && w.segment+w.snapshot <= 2*SegmentBurst {
		clear(seg[:n])
	} else {
		j.releaseHalf(i)
	}
}

// Release gives back what nothing is in.
func (j *Journal) Release() {
	for i := range j.warm {
		j.releaseHalf(i)
	}
}

// releaseHalf gives back what half i takes and does not use.
func (j *Journal) releaseHalf(i int) {
	w := j.warm[i]
	j.warm[i] = footprint{}
	var segment, snapshot int64
	if i == j.Current() {
		segment, snapshot = WholePages(j.Length[i].Load()), WholePages(j.Snap[i].Load())
	}
	if w.segment > segment {
		sys.PunchHole(j.Fd, int64(i)*SegmentArea+segment, j.Mem[i*SegmentArea:][segment:w.segment])
	}
	if w.snapshot > snapshot {
		_ = sys.PunchHoleFile(j.Fd, snapshotOffset(i)+snapshot, w.snapshot-snapshot)
	}
}

// WholePages rounds n up to whole pages of memory.
func WholePages(n uint64) int64 { return int64(n+SegmentPad-1) / SegmentPad * SegmentPad }

func snapshotOffset(i int) int64 { return snapshotArea + int64(i)*snapshotMax }

// leftover is what a dead server left: the history's mark and the snapshot
// (empty: a fresh terminal), the offset behind it, and every byte of output
// since, those of a read included whose length was not moved.
type leftover struct {
	Mark, Snapshot []byte
	Base           uint64
	Data           []byte // of the mapped segment
}

// Recovered returns it.
func (j *Journal) Recovered() (leftover, error) {
	i := j.Current()
	seg := j.segment(i)
	n := min(j.Length[i].Load(), uint64(len(seg)))
	// Memory that was never touched must not be by looking at it.
	most := max(int(n), sys.DataEnd(j.Fd, int64(i)*SegmentArea+int64(n), len(seg)-int(n))+int(n))
	end := most
	for uint64(end) > n && seg[end-1] == 0 {
		end--
	}
	if uint64(end) > n {
		j.Length[i].Store(uint64(end))
	}
	j.warm[i].segment = WholePages(uint64(most))
	// A kill while the last segment was wiped leaves it dirty.
	sys.PunchHole(j.Fd, int64(1-i)*SegmentArea, j.Mem[(1-i)*SegmentArea:][:SegmentArea])
	j.warm[1-i].snapshot = int64(min(j.Snap[1-i].Load(), snapshotMax))
	b := make([]byte, min(j.Snap[i].Load(), snapshotMax))
	if err := readAt(j.Fd, b, snapshotOffset(i)); err != nil {
		return leftover{}, fmt.Errorf("read a snapshot: %w", err)
	}
	k := min(j.mark[i].Load(), uint64(len(b)))
	return leftover{Mark: b[:k], Snapshot: b[k:], Base: j.base[i].Load(), Data: seg[:j.Length[i].Load()]}, nil
}

// Close unmaps the journal. What the keeper holds stays.
func (j *Journal) Close() {
	_ = unix.Munmap(j.Mem)
	unix.Close(j.Fd)
	j.Mem, j.Fd = nil, -1
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
