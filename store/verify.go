package store

// The bbolt file format, version 2, read just far enough to know that bbolt can
// map the file safely: bbolt trusts page numbers and lengths, and a truncated
// file kills the process with SIGBUS. Source: bbolt's internal/common (page.go,
// meta.go, inode layout) and its freelist.

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageHeader = 16
	metaSize   = 64
	elemSize   = 16 // of both branch and leaf elements

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
	bucketLeaf   = 0x01 // flag of a leaf element that is a bucket

	noFreelist = 1<<64 - 1
)

type boltMeta struct {
	pageSize, root, freelist, pages, txid uint64
}

// image is a file being verified.
type image struct {
	data []byte
	meta boltMeta
	seen map[uint64]bool // every page that has an owner
}

// verify checks the structure of the whole file; any fault is ErrCorrupt. The
// caller holds the lock, so that the file is not truncated while mapped.
func verify(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 || !info.Mode().IsRegular() {
		return fmt.Errorf("%w: empty or not a regular file", ErrCorrupt)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer func() { _ = unix.Munmap(data) }()
	return verifyData(data)
}

func verifyData(data []byte) error {
	meta, ok := newestMeta(data)
	if !ok {
		return fmt.Errorf("%w: no valid header", ErrCorrupt)
	}
	im := &image{data: data, meta: meta, seen: map[uint64]bool{0: true, 1: true}}
	if err := im.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}

// newestMeta returns the valid header with the highest transaction number. The
// second one is one page in, and the page size is known only from a header.
func newestMeta(data []byte) (best boltMeta, ok bool) {
	if m, valid := parseMeta(data, 0); valid {
		best, ok = m, true
		if m, valid := parseMeta(data, m.pageSize); valid && m.txid > best.txid {
			best = m
		}
		return best, ok
	}
	for off := uint64(1024); off <= 1024<<14; off <<= 1 {
		if m, valid := parseMeta(data, off); valid && m.pageSize == off {
			return m, true
		}
	}
	return best, false
}

func parseMeta(data []byte, off uint64) (m boltMeta, ok bool) {
	if off+pageHeader+metaSize > uint64(len(data)) {
		return m, false
	}
	b := data[off+pageHeader:][:metaSize]
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	sum := fnv.New64a()
	sum.Write(b[:56])
	if u32(b) != boltMagic || u32(b[4:]) != boltVersion || u64(b[56:]) != sum.Sum64() {
		return m, false
	}
	m = boltMeta{pageSize: uint64(u32(b[8:])), root: u64(b[16:]), freelist: u64(b[32:]), pages: u64(b[40:]), txid: u64(b[48:])}
	return m, m.pageSize >= 1024 && m.pageSize&(m.pageSize-1) == 0
}

func (im *image) check() error {
	m := im.meta
	if have := uint64(len(im.data)) / m.pageSize; m.pages > have {
		return fmt.Errorf("truncated: %d of %d pages", have, m.pages)
	}
	if m.freelist == noFreelist {
		return fmt.Errorf("written by another program (no free list)")
	}
	if err := im.walk(m.root); err != nil {
		return err
	}
	return im.checkFreelist()
}

// page returns a page with its overflow pages, and its header fields, and marks
// it as owned.
func (im *image) page(id uint64) (page []byte, flags, count uint16, err error) {
	if id >= im.meta.pages {
		return nil, 0, 0, fmt.Errorf("page %d is out of range", id)
	}
	size := im.meta.pageSize
	head := im.data[id*size:]
	span := 1 + uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head) != id || id+span > im.meta.pages {
		return nil, 0, 0, fmt.Errorf("page %d has a bad header", id)
	}
	for p := id; p < id+span; p++ {
		if im.seen[p] {
			return nil, 0, 0, fmt.Errorf("page %d is used twice", p)
		}
		im.seen[p] = true
	}
	return head[:span*size], binary.NativeEndian.Uint16(head[8:]), binary.NativeEndian.Uint16(head[10:]), nil
}

// walk checks the tree below a page.
func (im *image) walk(id uint64) error {
	page, flags, count, err := im.page(id)
	if err != nil {
		return err
	}
	switch flags {
	case branchPage:
		if count == 0 {
			return fmt.Errorf("branch page %d is empty", id)
		}
		return im.branch(id, page, int(count))
	case leafPage:
		return im.leaf(id, page, int(count))
	default:
		return fmt.Errorf("page %d has type %#x", id, flags)
	}
}

func (im *image) branch(id uint64, page []byte, count int) error {
	var last string
	for i := range count {
		at := pageHeader + i*elemSize
		if at+elemSize > len(page) {
			return fmt.Errorf("page %d: element %d is out of range", id, i)
		}
		e := page[at:]
		pos, ksize := binary.NativeEndian.Uint32(e), binary.NativeEndian.Uint32(e[4:])
		key, _, err := element(page, at, pos, ksize, 0)
		if err != nil || i > 0 && key <= last {
			return fmt.Errorf("page %d: element %d is damaged", id, i)
		}
		last = key
		if err := im.walk(binary.NativeEndian.Uint64(e[8:])); err != nil {
			return err
		}
	}
	return nil
}

func (im *image) leaf(id uint64, page []byte, count int) error {
	var last string
	for i := range count {
		at := pageHeader + i*elemSize
		if at+elemSize > len(page) {
			return fmt.Errorf("page %d: element %d is out of range", id, i)
		}
		e := page[at:]
		flags, pos := binary.NativeEndian.Uint32(e), binary.NativeEndian.Uint32(e[4:])
		ksize, vsize := binary.NativeEndian.Uint32(e[8:]), binary.NativeEndian.Uint32(e[12:])
		key, value, err := element(page, at, pos, ksize, vsize)
		if err != nil || i > 0 && key <= last {
			return fmt.Errorf("page %d: element %d is damaged", id, i)
		}
		last = key
		if flags&bucketLeaf == 0 {
			continue
		}
		if err := im.bucket(id, value); err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a bucket header: root page and sequence, and for root 0 an
// inline leaf page that follows in the same value.
func (im *image) bucket(id uint64, value []byte) error {
	if len(value) < 16 {
		return fmt.Errorf("page %d: truncated bucket", id)
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return im.walk(root)
	}
	inline := value[16:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != leafPage {
		return fmt.Errorf("page %d: damaged inline bucket", id)
	}
	return im.leaf(id, inline, int(binary.NativeEndian.Uint16(inline[10:])))
}

// element extracts a key and a value from a page; pos is relative to the
// element.
func element(page []byte, at int, pos, ksize, vsize uint32) (string, []byte, error) {
	start := uint64(at) + uint64(pos)
	mid := start + uint64(ksize)
	end := mid + uint64(vsize)
	if end > uint64(len(page)) {
		return "", nil, io.ErrUnexpectedEOF
	}
	return string(page[start:mid]), page[mid:end], nil
}

// checkFreelist checks that the free pages exist and have no owner. A count of
// 0xFFFF means that the real one is in the first entry.
func (im *image) checkFreelist() error {
	id := im.meta.freelist
	page, flags, short, err := im.page(id)
	if err != nil {
		return err
	}
	if flags != freelistPage {
		return fmt.Errorf("page %d has type %#x, not a free list", id, flags)
	}
	ids, count := page[pageHeader:], uint64(short)
	if short == 0xFFFF {
		count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids))/8 {
		return fmt.Errorf("page %d: truncated free list", id)
	}
	for i := range count {
		free := binary.NativeEndian.Uint64(ids[i*8:])
		if free >= im.meta.pages || im.seen[free] {
			return fmt.Errorf("page %d is free and in use", free)
		}
		im.seen[free] = true
	}
	return nil
}
