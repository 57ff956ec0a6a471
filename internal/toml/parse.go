package toml

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	gotoml "github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// node is a value in the file with its position.
type node struct {
	kind  Kind
	at    Pos
	str   string // String, Time
	num   int64
	float float64
	truth bool
	items []*node // Array

	keys  []string // Table, in file order
	table map[string]*node

	closed bool // an inline table or array: nothing can be added later
	header bool // opened by its own [table] line
	dotted bool // made by a dotted key
}

func newTable(at Pos) *node { return &node{kind: Table, at: at, table: map[string]*node{}} }

func (n *node) put(key string, v *node) {
	n.keys = append(n.keys, key)
	n.table[key] = v
}

// builder turns the expressions of a TOML document into one tree.
type builder struct {
	p    unstable.Parser
	out  *Report
	line []int // offset of each line's first byte
}

// Parse parses the text of a file. Violations of TOML (bad syntax, a key set
// twice) are reported to out; the document holds whatever could be read.
func Parse(data []byte, out *Report) *Document {
	return &Document{root: parse(data, out)}
}

// Document is a parsed file.
type Document struct{ root *node }

// Rename turns the array of tables from into to, appending its tables to those
// already in to.
func (d *Document) Rename(from, to string, out *Report) {
	tables, ok := d.root.table[from]
	if !ok {
		return
	}
	delete(d.root.table, from)
	d.root.keys = slices.DeleteFunc(d.root.keys, func(k string) bool { return k == from })
	all, ok := d.root.table[to]
	switch {
	case !ok:
		d.root.put(to, tables)
	case all.kind == Array && tables.kind == Array:
		all.items = append(all.items, tables.items...)
	default:
		out.Add(tables.at, "write [["+to+"]]", "%s must be an array of tables", from)
	}
}

func parse(data []byte, out *Report) *node {
	b := &builder{out: out, line: []int{0}}
	for i, c := range data {
		if c == '\n' {
			b.line = append(b.line, i+1)
		}
	}
	before := len(out.list)
	root := newTable(Pos{Line: 1, Column: 1})
	b.p.Reset(data)
	cur := root
	for b.p.NextExpression() {
		e := b.p.Expression()
		switch e.Kind {
		case unstable.Table:
			cur = b.open(root, e, false)
		case unstable.ArrayTable:
			cur = b.open(root, e, true)
		case unstable.KeyValue:
			b.keyValue(cur, e)
		}
	}
	if err := b.p.Error(); err != nil {
		b.syntax(err)
		out.truncated = true
		return root
	}
	if len(out.list) == before {
		b.confirm(data)
	}
	return root
}

// syntax reports a parser error at its position.
func (b *builder) syntax(err error) {
	var pe *unstable.ParserError
	if !errors.As(err, &pe) {
		b.out.Add(Pos{}, "", "%v", err)
		return
	}
	at := Pos{}
	if len(pe.Highlight) > 0 {
		at = b.pos(b.p.Range(pe.Highlight))
	}
	b.out.Add(at, "", "%s", pe.Message)
}

// confirm has the library check the whole document, for rules of TOML that do
// not matter for building the tree.
func (b *builder) confirm(data []byte) {
	var all map[string]any
	err := gotoml.Unmarshal(data, &all)
	if err == nil {
		return
	}
	var de *gotoml.DecodeError
	if errors.As(err, &de) {
		row, col := de.Position()
		b.out.Add(Pos{Line: row, Column: col}, "", "%s", strings.TrimPrefix(de.Error(), "toml: "))
		return
	}
	b.out.Add(Pos{}, "", "%s", strings.TrimPrefix(err.Error(), "toml: "))
}

func (b *builder) pos(r unstable.Range) Pos {
	off := int(r.Offset)
	lo, hi := 0, len(b.line)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; b.line[mid] <= off {
			lo = mid
		} else {
			hi = mid
		}
	}
	return Pos{Line: lo + 1, Column: off - b.line[lo] + 1}
}

// part is one element of a dotted key.
type part struct {
	name string
	at   Pos
}

func (b *builder) key(it unstable.Iterator) []part {
	var parts []part
	for it.Next() {
		n := it.Node()
		parts = append(parts, part{name: string(n.Data), at: b.pos(n.Raw)})
	}
	return parts
}

// open finds or creates the table of a [header] or [[header]].
func (b *builder) open(root *node, e *unstable.Node, array bool) *node {
	parts := b.key(e.Key())
	cur := root
	for _, p := range parts[:len(parts)-1] {
		cur = b.descend(cur, p)
	}
	last := parts[len(parts)-1]
	old, exists := cur.table[last.name]
	switch {
	case array:
		return b.element(cur, old, last)
	case !exists:
		t := newTable(last.at)
		t.header = true
		cur.put(last.name, t)
		return t
	case old.kind != Table || old.header || old.closed || old.dotted:
		b.twice(last, old)
		return newTable(last.at)
	}
	old.header = true
	old.at = last.at
	return old
}

// element appends a table to an array of tables.
func (b *builder) element(cur, old *node, last part) *node {
	t := newTable(last.at)
	t.header = true
	if old == nil {
		old = &node{kind: Array, at: last.at}
		cur.put(last.name, old)
	}
	if old.kind != Array || old.closed {
		b.twice(last, old)
		return t
	}
	old.items = append(old.items, t)
	return t
}

// descend follows one part of a header, into the last element of an array of
// tables.
func (b *builder) descend(cur *node, p part) *node {
	next, ok := cur.table[p.name]
	if !ok {
		next = newTable(p.at)
		cur.put(p.name, next)
		return next
	}
	if next.kind == Array && !next.closed && len(next.items) > 0 {
		return next.items[len(next.items)-1]
	}
	if next.kind != Table || next.closed {
		b.twice(p, next)
		return newTable(p.at)
	}
	return next
}

func (b *builder) twice(p part, old *node) {
	b.out.Add(p.at, "", "%q is set twice, first on line %d", p.name, old.at.Line)
}

// keyValue adds one key = value below cur.
func (b *builder) keyValue(cur *node, e *unstable.Node) {
	parts := b.key(e.Key())
	for _, p := range parts[:len(parts)-1] {
		next, ok := cur.table[p.name]
		switch {
		case !ok:
			next = newTable(p.at)
			next.dotted = true
			cur.put(p.name, next)
		case next.kind != Table || next.closed || next.header:
			b.twice(p, next)
			next = newTable(p.at)
		}
		cur = next
	}
	last := parts[len(parts)-1]
	if old, ok := cur.table[last.name]; ok {
		b.twice(last, old)
		return
	}
	v := b.value(e.Value(), last.at)
	v.at = last.at
	cur.put(last.name, v)
}

// value reads one value; near is the position of nodes without one.
func (b *builder) value(n *unstable.Node, near Pos) *node {
	out := &node{at: near, closed: true}
	if n.Raw.Length > 0 {
		out.at = b.pos(n.Raw)
	}
	switch n.Kind {
	case unstable.String:
		out.kind, out.str = String, string(n.Data)
	case unstable.Bool:
		out.kind, out.truth = Bool, len(n.Data) > 0 && n.Data[0] == 't'
	case unstable.Integer:
		out.kind = Int
		v, err := strconv.ParseInt(string(n.Data), 0, 64)
		if err != nil {
			b.out.Add(out.at, "", "%s does not fit in a 64-bit integer", n.Data)
			v = 0
		}
		out.num = v
	case unstable.Float:
		out.kind, out.float = Float, parseFloat(string(n.Data))
	case unstable.Array:
		out.kind = Array
		for it := n.Children(); it.Next(); {
			out.items = append(out.items, b.value(it.Node(), out.at))
		}
	case unstable.InlineTable:
		out.kind, out.table = Table, map[string]*node{}
		for it := n.Children(); it.Next(); {
			b.keyValue(out, it.Node())
		}
	default:
		out.kind, out.str = Time, string(n.Data)
	}
	return out
}

func parseFloat(s string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
