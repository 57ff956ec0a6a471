package attached

import (
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// output is what a client has seen and what it gets next: output goes into a
// bounded backlog, and a client that falls behind loses it and gets a fresh paint. The
// session's lock guards it.
type output struct {
	c          *client
	back       *place // where a client that lost its server left off
	scrollback bool   // paint the history first, once
	filter     vt.HostFilter
	backlog    []byte
	sending    int    // bytes of the backlog that the writer has taken
	sent       uint64 // offset up to which output was queued or sent
	repaint    bool   // paint before anything else
	dirty      bool   // the screen changed; for a client that gets paints
	painted    bool   // it was painted before
	paintedRaw bool   // raw output follows its last paint
	modes      vt.Modes
	lastings   uint32 // see vt.Terminal.Lastings
	resumed    bool   // tell it that it continues where it left off
}

// add notes new output that ends at offset. The lock is held.
func (o *output) add(p []byte, offset uint64) {
	switch {
	case o.repaint:
	case o.raw() != o.paintedRaw:
		o.resync()
	case !o.raw():
		o.dirty = true
	case o.sending+len(o.backlog)+len(p) > clientBacklog:
		o.resync()
	default:
		if n := len(o.backlog) + len(p); n > clientFew && n > cap(o.backlog) { // at once, as growing leaves garbage
			o.backlog = append(make([]byte, 0, clientBacklog), o.backlog...)
		}
		o.backlog = o.filter.Filter(o.backlog, p)
		o.sent = offset
		if o.filter.Stale() {
			o.resync()
		}
	}
	o.c.poke()
}

// raw reports whether the client gets the program's own bytes. The lock is held.
func (o *output) raw() bool {
	return o.c.s.Raw(o.c.terminal.cols, o.c.terminal.rows)
}

// resync drops the backlog and asks for a paint. The lock is held.
func (o *output) resync() {
	o.backlog, o.repaint = nil, true
	o.c.poke()
}

// paint returns the screen as a message for the client's terminal. The lock is held.
func (o *output) paint() message {
	term, t, shown := o.c.s.View(), &o.c.terminal, o.c.s.Rendered()
	raw, first, modes := o.raw(), !o.painted, term.Modes()
	m := message{paint: true, raw: raw, size: api.Size{Cols: t.cols, Rows: t.rows}, offset: shown}
	opts := vt.PaintOptions{Scrollback: o.scrollback, Again: o.painted}
	if !raw {
		opts.Cols, opts.Rows = t.cols, t.rows
		opts.Content = o.painted && !o.repaint && modes == o.modes && term.Lastings() == o.lastings
		m.pause = paintInterval
	}
	m.data = term.AppendPaint(nil, opts)
	o.scrollback, o.painted, o.paintedRaw, o.modes, o.lastings = false, true, raw, modes, term.Lastings()
	o.repaint, o.dirty, o.backlog, o.sent = false, false, nil, shown
	o.filter = vt.HostFilter{Images: t.host.Images}
	if raw {
		m.data = o.filter.Begin(m.data, term)
	}
	if first && t.mark != "" {
		m.data = append([]byte(vt.Marker(t.mark)), m.data...)
	}
	return m
}

// place is how far a client that lost its server came. The server told it an offset in
// the session's output ("paint", "offset"), and it received skip bytes after that.
//
// A client receives the output without queries, and their removal depends only on the
// output and on the images that the terminal shows. So a new server makes the same bytes again from a place where the state is
// known, the beginning of the journal's segment, and leaves out what the client has.
type place struct {
	offset uint64 // in the session's output
	skip   uint64 // bytes received after it
}

// resume makes the client continue at a place; false if it must be painted. The lock is held.
func (o *output) resume(at place) bool {
	s := o.c.s
	if !o.raw() || s.Exit() != nil {
		return false
	}
	base, held, pending := s.Segment()
	if at.offset < base || at.offset > s.Rendered() {
		return false
	}
	f := vt.HostFilter{Images: o.c.terminal.host.Images}
	before := f.Filter(nil, pending)
	before = f.Filter(before[:0], held[:at.offset-base])
	if f.Long() {
		return false // where it is cut off depends on where it began
	}
	f.Stale()
	missing := f.Filter(before[:0], held[at.offset-base:])
	if f.Stale() {
		return false
	}
	if at.skip > uint64(len(missing)) || len(missing)-int(at.skip) > clientBacklog {
		return false
	}
	o.filter, o.sent, o.backlog = f, s.Rendered(), missing[at.skip:]
	o.painted, o.paintedRaw, o.modes, o.lastings, o.resumed = true, true, s.View().Modes(), s.View().Lastings(), true
	return true
}
