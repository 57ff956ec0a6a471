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

// A journal holds the output that is not in a snapshot yet, so that a new server has
// every byte. It is memory that the keeper holds beside the terminal: two segments, used
// in turn, each with the snapshot of the screen at its beginning.
//
//	0        segment 0, raw output
//	8 MiB    segment 1
//	16 MiB   snapshot at the beginning of segment 0
//	80 MiB   snapshot at the beginning of segment 1
//	144 MiB  the nudge under way, the detector's state, and the progress of each
//	         client's typing
//
// A segment is 128 KiB long, 512 KiB during fast output, or twice as long as its snapshot
// if the screen is large and colourful, so that snapshots never cost more than the
// output. History is elsewhere: see History.
//
// read(2) writes straight into the mapped segment, after its length; then the length
// moves, then the screen is fed. The memory after the length is zero, and a NUL means
// nothing to a terminal. So after a crash, bytes there that are not zero are a read whose
// length was not moved. Everything is sparse: unused memory takes no space, and used
// memory is released, at once or when a busy session becomes idle.
//
// A change of the screen that is not output (a resize, a cleared history) begins a new
// segment with the changed screen as its snapshot. So things happen in the order of the
// bytes, and no list of such changes is needed.
const (
	SegmentArea  = 8 << 20
	SegmentLeast = 128 << 10
	SegmentBurst = 4 * SegmentLeast
	SegmentPad   = 4096 // a terminal returns at most this much per read
	snapshotArea = 2 * SegmentArea
	snapshotMax  = 64 << 20
	Size         = typedArea + TypedClients*typedPlace
)

// Header is a journal's header, in a table that all journals share: a page for each would
// take more memory than the rest of an idle session. Each field is written with one
// store, so a kill leaves the old or the new value.
type Header struct {
	Turn    atomic.Uint64    // number of segments begun; its last bit is the current one
	Length  [2]atomic.Uint64 // bytes in each segment
	base    [2]atomic.Uint64 // offset of each segment in the session's output
	Snap    [2]atomic.Uint64 // bytes of each snapshot; 0: a fresh terminal
	history [2]atomic.Uint64 // bytes at the beginning of each snapshot that are the history's state
	Effect  atomic.Uint64    // offset up to which replies and events were published
	LastIn  atomic.Int64     // Unix nanoseconds
	LastOut atomic.Int64
	Tries   atomic.Uint64 // replays that began and did not end
	Flags   atomic.Uint64

	AheadDone atomic.Uint64 // bytes of the current nudge that the terminal took
	AheadNext atomic.Uint64 // the same with the write under way
	Nudges    [NudgeMemory]NudgeEntry
}

// NudgeEntry is the progress of a nudge, for a server after a crash: the nudge is
// finished or reported, never repeated.
type NudgeEntry struct {
	ID    atomic.Uint64 // hash of the nudge's id; 0: free
	Stage atomic.Uint64
}

// Nudge returns the entry of a nudge; nil if there is none.
func (s *Header) Nudge(key uint64) *NudgeEntry {
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
	HeaderSize = 256
	TableSize  = 65536 // headers; sparse
)

// A header has the size of its place in the table, which servers of every version share.
// Neither line compiles otherwise.
var (
	_ [HeaderSize - unsafe.Sizeof(Header{})]struct{}
	_ [unsafe.Sizeof(Header{}) - HeaderSize]struct{}
)

// flags of a Header
const (
	FlagLost   = 1 << 0 // the screen was lost
	FlagPrompt = 1 << 1 // a shell prompt is open
	FlagEnded  = 1 << 2 // the end was published
	FlagBare   = 1 << 3 // the current snapshot has no screen: it was too large

	// Bits 8 to 15: index of the nudge entry to be overwritten next, the oldest,
	// whichever server wrote it.
	nextMarkShift = 8

	RemadeShift = 32 // the upper half counts how often the screen was replaced
)

// OldestNudge returns the oldest nudge entry and makes the one after it the oldest.
func (s *Header) OldestNudge() *NudgeEntry {
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
	low  int // there is no free header below
}

var errNoSlot = errors.New("too many sessions")

// MapTable maps the memory behind fd, which stays the caller's.
func MapTable(fd int) (*Table, error) {
	mem, err := unix.Mmap(fd, 0, HeaderSize*TableSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the table of journals: %w", err)
	}
	return &Table{Mem: mem}, nil
}

// At returns a header.
func (t *Table) At(i int) *Header {
	return (*Header)(unsafe.Pointer(&t.Mem[i*HeaderSize]))
}

// Take marks a header as used; false if it is used or does not exist.
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

// Alloc returns a free header, zeroed.
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
	clear(t.Mem[i*HeaderSize : (i+1)*HeaderSize])
	return i, nil
}

// Release frees a header.
func (t *Table) Release(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i >= 0 && i < len(t.used) && t.used[i] {
		t.used[i] = false
		t.low = min(t.low, i)
	}
}

// Journal is the journal of one session. Its owner serialises all calls.
type Journal struct {
	*Header
	Fd    int
	Mem   []byte       // both segments
	Limit uint64       // bytes that the current segment may have
	Most  int          // bytes that a snapshot may have
	Begun time.Time    // when the current segment began
	warm  [2]footprint // memory that each half may take beyond its use
}

// footprint is how far memory was used, in bytes from the beginning of a segment and of a
// snapshot.
type footprint struct{ segment, snapshot int64 }

// busyTime is the time in which a program must fill a segment for the memory of the next
// one to be kept.
const busyTime = time.Second

// burstRate is the output in bytes per second from which on the next segment is longer. A
// new server replays the segments. All programs share its throughput, so only a few are
// so fast at a time, and the whole replay stays short.
const burstRate = 8 << 20

// Open maps the memory behind fd and takes over fd.
func Open(fd int, s *Header) (*Journal, error) {
	mem, err := unix.Mmap(fd, 0, 2*SegmentArea, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("map a journal: %w", err)
	}
	return &Journal{Header: s, Fd: fd, Mem: mem, Limit: SegmentLeast, Most: snapshotMax}, nil
}

// Place identifies a state of a journal.
type Place struct{ turn, length uint64 }

func (j *Journal) Place() Place {
	return Place{j.Turn.Load(), j.Length[j.Current()].Load()}
}

// Current returns the index of the current segment.
func (j *Journal) Current() int { return int(j.Turn.Load() & 1) }

// segment returns all of segment i at its greatest length.
func (j *Journal) segment(i int) []byte {
	n := min(max(SegmentBurst, 2*j.Snap[i].Load()), SegmentArea)
	return j.Mem[i*SegmentArea:][:n]
}

// Space returns the memory for the next read: zeros after the current length.
func (j *Journal) Space() []byte {
	i := j.Current()
	n := j.Length[i].Load()
	return j.segment(i)[n:max(n, j.Limit)]
}

// Commit adds the first n bytes of Space to the journal.
func (j *Journal) Commit(n int) {
	l := &j.Length[j.Current()]
	l.Store(l.Load() + uint64(n))
}

// From returns the bytes of the current segment from an offset of the session's output.
func (j *Journal) From(offset uint64) []byte {
	i := j.Current()
	base, n := j.base[i].Load(), j.Length[i].Load()
	if offset < base || offset > base+n {
		return nil
	}
	return j.segment(i)[offset-base : n]
}

// Start returns the offset of the current segment.
func (j *Journal) Start() uint64 { return j.base[j.Current()].Load() }

// End returns the offset after the last byte.
func (j *Journal) End() uint64 {
	i := j.Current()
	return j.base[i].Load() + j.Length[i].Load()
}

// Begin starts the next segment. snapshot is the screen with every byte so far; history
// is the history's state, in parts. One store makes the segment current; a kill before it
// leaves the old one complete.
func (j *Journal) Begin(history [][]byte, snapshot []byte) error {
	size := 0
	for _, p := range history {
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
	if err := errors.Join(SnapshotFault(), writeAt(j.Fd, snapshotOffset(next), append(history, snapshot)...)); err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	j.Snap[next].Store(uint64(size + len(snapshot)))
	j.history[next].Store(uint64(size))
	j.base[next].Store(j.End())
	j.Length[next].Store(0)
	j.Turn.Add(1)
	j.Limit = SegmentLeast
	if n := j.Length[old].Load(); n > SegmentLeast-SegmentPad && float64(n) > burstRate*took.Seconds() {
		j.Limit = SegmentBurst
	}
	j.Limit = min(max(j.Limit, 2*j.Snap[next].Load()), SegmentArea)
	j.wipe(old, took < busyTime)
	return nil
}

// SnapshotFault is called before a snapshot is written; tests replace it to fail.
var SnapshotFault = func() error { return nil }

// wipe zeroes segment i. A busy program fills it again at once, so its memory is kept
// until the session is idle, unless there is much of it.
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

// Release releases unused memory.
func (j *Journal) Release() {
	for i := range j.warm {
		j.releaseHalf(i)
	}
}

// releaseHalf releases the unused memory of half i.
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

// leftover is what a dead server left: the history's state and the snapshot (empty: a
// fresh terminal), the offset after it, and every byte of output since, including those
// of a read whose length was not moved.
type leftover struct {
	History, Snapshot []byte
	Base              uint64
	Data              []byte // of the mapped segment
}

// Recovered returns what a dead server left.
func (j *Journal) Recovered() (leftover, error) {
	i := j.Current()
	seg := j.segment(i)
	n := min(j.Length[i].Load(), uint64(len(seg)))
	// do not touch memory that was never used
	most := max(int(n), sys.DataEnd(j.Fd, int64(i)*SegmentArea+int64(n), len(seg)-int(n))+int(n))
	end := most
	for uint64(end) > n && seg[end-1] == 0 {
		end--
	}
	if uint64(end) > n {
		j.Length[i].Store(uint64(end))
	}
	j.warm[i].segment = WholePages(uint64(most))
	// a kill while the last segment was wiped leaves it dirty
	sys.PunchHole(j.Fd, int64(1-i)*SegmentArea, j.Mem[(1-i)*SegmentArea:][:SegmentArea])
	j.warm[1-i].snapshot = int64(min(j.Snap[1-i].Load(), snapshotMax))
	b := make([]byte, min(j.Snap[i].Load(), snapshotMax))
	if err := readAt(j.Fd, b, snapshotOffset(i)); err != nil {
		return leftover{}, fmt.Errorf("read a snapshot: %w", err)
	}
	k := min(j.history[i].Load(), uint64(len(b)))
	return leftover{History: b[:k], Snapshot: b[k:], Base: j.base[i].Load(), Data: seg[:j.Length[i].Load()]}, nil
}

// Close unmaps the journal. The keeper's memory stays.
func (j *Journal) Close() {
	_ = unix.Munmap(j.Mem)
	unix.Close(j.Fd)
	j.Mem, j.Fd = nil, -1
}

// writeAt writes parts one after the other, and changes their list.
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

// errShort means that an older server made the memory smaller.
var errShort = errors.New("it is truncated")

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
