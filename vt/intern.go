package vt

import "strings"

// Limits of interned values.
const (
	maxStyles       = 1<<16 - 1
	maxLinks        = 1<<16 - 1
	maxClusters     = 1<<21 - 1
	maxClusterBytes = 128 // further combining marks are dropped
	maxLinkBytes    = 4096
	sweepPatience   = 1 << 16 // failed lookups between sweeps that free too little
)

// link is a hyperlink (OSC 8).
type link struct{ id, uri string }

func (l link) size() int { return len(l.id) + len(l.uri) }

// cluster is the text of a character of several code points.
type cluster string

func (c cluster) size() int { return len(c) }

// styles interns styles: open addressing over numbers of a list. Number 0 is
// the default style. Freed numbers are reused.
type styles struct {
	list  []style
	index []uint16 // hash → number, 0 is empty; a power of two
	free  []uint16
	wait  int       // lookups to refuse before the next sweep
	sgr   *sgrCache // nil while the pen's style has no number
}

func (s style) hash() uint64 {
	h := (uint64(s.fg)<<32 | uint64(s.bg)) * 0x9e3779b97f4a7c15
	h ^= (uint64(s.ul)<<32 | uint64(s.attrs)) * 0xc2b2ae3d27d4eb4f
	return h ^ h>>29
}

func (t *styles) get(id uint16) style {
	if id == 0 {
		return style{}
	}
	return t.list[id]
}

// find returns the number of s; ok is false when it has none.
func (t *styles) find(s style) (id uint16, ok bool) {
	if s == (style{}) {
		return 0, true
	}
	if len(t.index) == 0 {
		return 0, false
	}
	mask := uint64(len(t.index) - 1)
	for i := s.hash() & mask; ; i = (i + 1) & mask {
		id := t.index[i]
		if id == 0 {
			return 0, false
		}
		if t.list[id] == s {
			return id, true
		}
	}
}

// add gives s a number; ok is false when none is left.
func (t *styles) add(s style) (id uint16, ok bool) {
	switch {
	case len(t.free) > 0:
		id = t.free[len(t.free)-1]
		t.free = t.free[:len(t.free)-1]
		t.list[id] = s
	case len(t.list) >= maxStyles:
		return 0, false
	default:
		if len(t.list) == 0 {
			t.list = append(t.list, style{})
		}
		id = uint16(len(t.list))
		t.list = append(t.list, s)
	}
	if (len(t.list)-len(t.free))*2 > len(t.index) {
		t.rehash()
	} else {
		t.put(id)
	}
	return id, true
}

func (t *styles) put(id uint16) {
	mask := uint64(len(t.index) - 1)
	i := t.list[id].hash() & mask
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = id
}

func (t *styles) rehash() {
	size := 32
	for size < len(t.list)*4 {
		size *= 2
	}
	t.index = make([]uint16, size)
	for id := 1; id < len(t.list); id++ {
		if t.list[id] != (style{}) {
			t.put(uint16(id))
		}
	}
}

// sweep frees every number not in live and returns how many it freed.
func (t *styles) sweep(live []bool) int {
	t.free, t.sgr = t.free[:0], nil
	for id := 1; id < len(t.list); id++ {
		if !live[id] {
			t.list[id] = style{}
			t.free = append(t.free, uint16(id))
		}
	}
	t.rehash()
	return len(t.free)
}

// interned is a table of values numbered from 1, for links and clusters, which
// are rarer than styles.
type interned[K interface {
	comparable
	size() int // bytes of text
}] struct {
	list  []K
	index map[K]uint32
	free  []uint32
	next  int // sweep when this many are in use
	bytes int // text of the values in use
	wait  int // values to refuse before the next sweep
}

func (t *interned[K]) get(id uint32) K { return t.list[id] }

// add gives k a number; ok is false if no number is left or the text would
// exceed most bytes.
func (t *interned[K]) add(k K, limit, most int) (id uint32, ok bool) {
	if t.index == nil {
		t.index = make(map[K]uint32)
		t.list = make([]K, 1, 8)
	}
	if t.bytes+k.size() > most {
		return 0, false
	}
	if n := len(t.free); n > 0 {
		id = t.free[n-1]
		t.free = t.free[:n-1]
		t.list[id] = k
	} else if len(t.list) >= limit {
		return 0, false
	} else {
		id = uint32(len(t.list))
		t.list = append(t.list, k)
	}
	t.index[k] = id
	t.bytes += k.size()
	return id, true
}

func (t *interned[K]) taken() int { return len(t.list) - len(t.free) }

// crowded reports whether to sweep before k is added.
func (t *interned[K]) crowded(k K, most int) bool {
	if t.bytes+k.size() > most {
		t.wait--
		return t.wait < 0
	}
	return t.taken() >= max(t.next, 1024)
}

// sweep frees every number not in live.
func (t *interned[K]) sweep(live []bool, most int) {
	var zero K
	t.free = t.free[:0]
	for id := 1; id < len(t.list); id++ {
		if live[id] {
			continue
		}
		if k := t.list[id]; k != zero {
			delete(t.index, k)
			t.bytes -= k.size()
			t.list[id] = zero
		}
		t.free = append(t.free, uint32(id))
	}
	t.next = max(1024, 2*t.taken())
	t.wait = 0
	if t.bytes > most-most/8 {
		t.wait = sweepPatience / 16
	}
}

// styleID returns the number of a style. When 65,534 styles are on the screens
// at once, further ones are shown as the default.
func (t *Terminal) styleID(s style) uint16 {
	id, ok := t.styles.find(s)
	if ok {
		return id
	}
	if id, ok = t.styles.add(s); ok {
		return id
	}
	if t.styles.wait--; t.styles.wait > 0 || t.held {
		t.lost.Styles++
		t.styles.sgr = nil // it requires that the pen's style has a number
		return 0
	}
	live := make([]bool, len(t.styles.list))
	t.eachLiveCell(func(c cell) { live[c.style()] = true })
	t.styles.wait = 0
	if t.styles.sweep(live) < maxStyles/8 {
		t.styles.wait = sweepPatience
	}
	t.pen.blankOK = false
	t.forgetRenditions()
	if id, ok = t.styles.add(s); !ok {
		t.lost.Styles++
	}
	return id
}

// linkID returns the number of a hyperlink, 0 if the table is full. It copies
// l: its strings may be parts of longer ones.
func (t *Terminal) linkID(l link) uint16 {
	if l.uri == "" {
		return 0
	}
	if t.links == nil {
		t.links = &interned[link]{}
	}
	if id, ok := t.links.index[l]; ok {
		return uint16(id)
	}
	if !t.held && t.links.crowded(l, maxLinkText) {
		live := make([]bool, len(t.links.list))
		t.eachLiveCell(func(c cell) { live[c.link()] = true })
		t.links.sweep(live, maxLinkText)
		t.forgetRenditions()
	}
	id, ok := t.links.add(link{strings.Clone(l.id), strings.Clone(l.uri)}, maxLinks, maxLinkText)
	if !ok {
		t.lost.Links++
	}
	return uint16(id)
}

// clusterCell returns the content bits of a cell that shows several code
// points. When no number is left, only the first is shown.
func (t *Terminal) clusterCell(text []byte) cell {
	if id, ok := t.clusters.index[cluster(text)]; ok {
		return cell(id) | cellCluster
	}
	if !t.held && t.clusters.crowded(cluster(text), maxClusterText) {
		live := make([]bool, len(t.clusters.list))
		t.eachLiveCell(func(c cell) {
			if c&cellCluster != 0 {
				live[c&cellRune] = true
			}
		})
		t.clusters.sweep(live, maxClusterText)
	}
	id, ok := t.clusters.add(cluster(text), maxClusters, maxClusterText)
	if !ok {
		t.lost.Clusters++
		return cell(firstRune(text))
	}
	return cell(id) | cellCluster
}

func (t *Terminal) forgetRenditions() {
	if t.hist != nil {
		t.hist.forgetRenditions()
	}
}

// eachLiveCell visits every cell whose numbers are in use: both screens, what
// readers see during a synchronized update, pens, and the last character.
func (t *Terminal) eachLiveCell(visit func(cell)) {
	for _, s := range [...]*screen{&t.main, &t.alt} {
		for i := range s.rows {
			r := s.row(i)
			for _, c := range r.cells[:r.used] {
				visit(c)
			}
		}
	}
	if t.frozen != nil {
		for i := range t.frozen.rows {
			r := &t.frozen.rows[i]
			for _, c := range r.cells[:r.used] {
				visit(c)
			}
		}
	}
	visit(t.pen.attr)
	visit(t.pen.blank)
	visit(t.last.cell)
	for _, s := range [...]*saved{&t.main.saved, &t.alt.saved} {
		visit(s.pen.attr)
	}
}
