package process

import (
	"bytes"
	"errors"
	"fmt"
)

// Bounds of one page.
const (
	MaxLine = 64 << 10 // bytes of a line; the rest is cut off
	MaxPage = 1 << 20  // bytes of a page
)

// Line is one line of output. Numbers start at 1 and never change. A line with
// Missing stands for lost bytes; its number is that of the first line they
// touch.
type Line struct {
	N       uint64
	Text    []byte // without its newline
	Cut     bool   // longer than MaxLine, or its beginning is lost
	Missing uint64 // bytes
}

// Page is a part of the output.
type Page struct {
	Lines      []Line
	Next       uint64 // number of the line after the page
	TotalLines uint64
	TotalBytes uint64
}

// part is a range of the output that is kept or, with missing, is not.
type part struct {
	from, to uint64
	line     uint64 // number of the line at from
	missing  bool
}

// parts splits the output into kept and lost ranges, with line numbers.
func (r *Ring) parts() ([]part, error) {
	var out []part
	add := func(from, to uint64, missing bool) {
		if from < to {
			out = append(out, part{from: from, to: to, missing: missing})
		}
	}
	// cover adds [from, to), split at the gaps.
	cover := func(from, to uint64) {
		for _, g := range r.gaps {
			if g.to <= from || g.from >= to {
				continue
			}
			add(from, max(g.from, from), false)
			add(max(g.from, from), min(g.to, to), true)
			from = min(g.to, to)
		}
		add(from, to, false)
	}
	tail := r.tailFrom()
	if tail > RingHead { // a gap at its beginning counts as dropped
		for _, g := range r.gaps {
			if g.from <= tail && g.to > tail {
				tail = g.to
			}
		}
	}
	if tail <= RingHead {
		cover(0, r.total)
		return out, r.number(out, len(out))
	}
	cover(0, RingHead)
	dropped := len(out)
	add(RingHead, min(tail, r.total), true)
	cover(tail, r.total)
	return out, r.number(out, dropped)
}

// number sets the line numbers: counted from the front up to the dropped part,
// from the back after it.
func (r *Ring) number(parts []part, dropped int) error {
	count := func(p part) (uint64, error) {
		if !p.missing {
			return r.countLines(p.from, p.to)
		}
		for _, g := range r.gaps {
			if g.from <= p.from && p.to <= g.to {
				return g.lines, nil
			}
		}
		return 0, nil
	}
	line := uint64(1)
	for i := range parts[:min(dropped+1, len(parts))] {
		parts[i].line = line
		n, err := count(parts[i])
		if err != nil {
			return err
		}
		line += n
	}
	line = r.ends + 1
	for i := len(parts) - 1; i > dropped; i-- {
		n, err := count(parts[i])
		if err != nil {
			return err
		}
		line -= n
		parts[i].line = line
	}
	return nil
}

// lines is the number of lines, including one without a newline.
func (r *Ring) lines() uint64 {
	if r.total > 0 && r.last != '\n' {
		return r.ends + 1
	}
	return r.ends
}

// Page returns up to limit lines starting at number first; keep selects among
// them, nil = all. The ring takes output meanwhile, however long keep takes.
func (r *Ring) Page(first uint64, limit int, keep func(Line) bool) (Page, error) {
	return r.page(max(first, 1), limit, keep)
}

// Last returns the last n lines.
func (r *Ring) Last(n int) (Page, error) {
	r.mu.Lock()
	first := uint64(1)
	if t := r.lines(); t > uint64(n) {
		first = t - uint64(n) + 1
	}
	r.mu.Unlock()
	return r.page(first, n, nil)
}

// maxOvertaken is how often a page continues after new output has overwritten
// what it was about to read.
const maxOvertaken = 8

// errOvertaken means that the output is no longer kept.
var errOvertaken = errors.New("overwritten meanwhile")

func (r *Ring) page(first uint64, limit int, keep func(Line) bool) (Page, error) {
	pg := &pager{Page: Page{Next: first}, limit: limit, first: first, keep: keep}
	err := r.collect(pg)
	for n := 0; n < maxOvertaken && errors.Is(err, errOvertaken); n++ {
		err = r.collect(pg)
	}
	if err != nil && !errors.Is(err, errOvertaken) {
		return Page{}, err
	}
	pg.Next = max(pg.Next, first)
	return pg.Page, nil
}

// collect adds lines from pg.first on; errOvertaken means: call it again.
func (r *Ring) collect(pg *pager) error {
	r.mu.Lock()
	parts, err := r.parts()
	pg.TotalLines, pg.TotalBytes = r.lines(), r.total
	r.mu.Unlock()
	if err != nil {
		return err
	}
	for i, p := range parts {
		if i+1 < len(parts) && parts[i+1].line < pg.first { // nothing of it is wanted
			continue
		}
		if p.missing {
			if pg.full() {
				break
			}
			from := max(p.from, pg.at)
			if from < p.to {
				pg.Lines = append(pg.Lines, Line{N: max(p.line, pg.resumed), Missing: p.to - from})
				pg.torn = true
			}
			pg.Next = pg.TotalLines + 1
			if i+1 < len(parts) {
				pg.Next = parts[i+1].line
			}
			continue
		}
		more, err := r.split(p, pg)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	return nil
}

// kept reads at an offset, unless that was overwritten meanwhile.
func (r *Ring) kept(p []byte, offset uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if offset >= RingHead && offset < r.tailFrom() {
		return errOvertaken
	}
	return r.readRaw(p, offset)
}

// pager collects a page.
type pager struct {
	Page
	first uint64
	limit int
	taken int // lines, not counting marks of lost output
	size  int
	torn  bool // the beginning of the next line is lost
	keep  func(Line) bool
	// Where to continue after being overtaken: an offset, and its line.
	at, resumed uint64
}

// overtaken records that line n, at an offset, is no longer kept.
func (g *pager) overtaken(n, at uint64) {
	g.at, g.resumed, g.first = at, n, max(g.first, n)
}

func (g *pager) full() bool { return g.taken >= g.limit || g.size >= MaxPage }

// add adds a line; false if the page is full.
func (g *pager) add(l Line) bool {
	if g.full() {
		return false
	}
	l.Cut = l.Cut || g.torn
	g.torn = false
	if l.N < g.first {
		return true
	}
	g.Next = l.N + 1
	if g.keep == nil || g.keep(l) {
		l.Text = bytes.Clone(l.Text)
		g.Lines = append(g.Lines, l)
		g.taken++
		g.size += len(l.Text)
	}
	return true
}

// split adds the lines of one part to the pager; false if the page is full,
// errOvertaken if new output has overwritten the rest.
func (r *Ring) split(p part, g *pager) (more bool, err error) {
	buf := make([]byte, min(chunk, p.to-p.from))
	var line []byte
	n, cut := p.line, false
	take := func(b []byte) {
		if room := MaxLine - len(line); len(b) > room {
			b, cut = b[:room], true
		}
		line = append(line, b...)
	}
	for at := p.from; at < p.to; {
		b := buf[:min(uint64(len(buf)), p.to-at)]
		if err := r.kept(b, at); err != nil {
			if errors.Is(err, errOvertaken) {
				g.overtaken(n, max(at-uint64(len(line)), g.at))
			}
			return false, err
		}
		at += uint64(len(b))
		if ends := uint64(bytes.Count(b, []byte{'\n'})); n+ends < g.first {
			if ends > 0 {
				g.torn, line, cut = false, nil, false
				b = b[bytes.LastIndexByte(b, '\n')+1:]
			}
			n += ends
			take(b)
			continue
		}
		for {
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				take(b)
				break
			}
			take(b[:i])
			if !g.add(Line{N: n, Text: line, Cut: cut}) {
				return false, nil
			}
			line, cut, b, n = line[:0], false, b[i+1:], n+1
		}
	}
	if len(line) > 0 {
		return g.add(Line{N: n, Text: line, Cut: cut}), nil
	}
	return true, nil
}

// Read returns up to limit bytes of output from an offset on, and the offset
// after them. missing is how many bytes before them are lost. ErrCursor for an
// offset after the end.
func (r *Ring) Read(offset uint64, limit int) (data []byte, next, missing uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if offset > r.total {
		return nil, 0, 0, fmt.Errorf("%w: %d is after the end at %d", ErrCursor, offset, r.total)
	}
	asked := offset
	tail := r.tailFrom()
	end := r.total
	for moved := true; moved; {
		moved = false
		if offset >= RingHead && offset < min(tail, r.total) {
			offset, moved = min(tail, r.total), true
		}
		for _, g := range r.gaps {
			if offset >= g.from && offset < g.to {
				offset, moved = g.to, true
			}
		}
	}
	if offset < RingHead && tail > RingHead {
		end = RingHead
	}
	for _, g := range r.gaps {
		if g.from > offset {
			end = min(end, g.from)
		}
	}
	data = make([]byte, min(uint64(limit), end-offset))
	if err := r.readRaw(data, offset); err != nil {
		return nil, 0, 0, fmt.Errorf("read the output: %w", err)
	}
	return data, offset + uint64(len(data)), offset - asked, nil
}
