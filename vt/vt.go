package vt

import "errors"

// Sizes a terminal may have, in cells.
const (
	MinCols, MinRows = 2, 1
	MaxCols, MaxRows = 2000, 2000
)

// Defaults of Options.
const (
	DefaultCols         = 80
	DefaultRows         = 24
	DefaultHistoryLines = 100_000
	DefaultHistoryBytes = 64 << 20
)

// ErrSize says that a size is outside of what a terminal may have.
var ErrSize = errors.New("terminal size out of range (2x1 to 2000x2000)")

// WidthPolicy says how many columns a character takes.
type WidthPolicy uint8

const (
	// WidthGrapheme gives a whole grapheme cluster its columns (mode 2027 set).
	WidthGrapheme WidthPolicy = iota
	// WidthWcwidth gives each code point its own, as the C library does, for
	// programs that count so.
	WidthWcwidth
)

// String names the policy.
func (w WidthPolicy) String() string {
	if w == WidthWcwidth {
		return "wcwidth"
	}
	return "grapheme"
}

// Options of a terminal; the zero value is right.
type Options struct {
	Cols, Rows   int         // 0 = 80x24
	HistoryLines int         // rows of history kept; 0 = 100,000; < 0 = no history
	HistoryBytes int64       // bytes of history kept; 0 = 64 MiB
	Version      string      // for XTVERSION
	Pages        Pages       // keeps sealed pages of history; nil = in memory
	Width        WidthPolicy // columns of a character
	Pipe         bool        // the program is on pipes: what it says of its input (inputModes) counts for nothing
}

// Terminal is an emulated terminal. It is not safe for concurrent use: its
// owner serialises every call, readers too.
type Terminal struct {
	cols, rows int
	x, y       int
	pending    bool // the next character wraps first (last column flag)
	changed    bool // something a reader can see changed since the last Write
	outside    bool // something that synchronized updates do not hold back changed
	slow       bool // text needs a charset, insert mode or a single shift

	top, bot    int // scroll region, inclusive
	left, right int // margins, inclusive (DECSLRM)

	outer *Outer // what shows it; nil: nobody said
	pen   pen
	last  lastText
	chars charsets
	modes modeSet
	mixed bool // characters may come out otherwise when written again, see exact.go
	scr   *screen

	parser parser
	rev    uint64
	// nextRev is what rev becomes when this Write changes something: the
	// revision of the rows it touches.
	nextRev uint64

	main, alt screen
	tabs      *tabStops // nil = every eighth column
	styles    styles
	links     *interned[link]
	clusters  interned[cluster]
	hist      *history
	frozen    *frozen // what readers see during a synchronized update
	spare     *frozen // its memory, kept for the next update
	extra     *extra  // what few programs use
	packed    *[]byte // the screens, see Pack
	held      bool    // a resize is under way: nothing interned is swept
	title     string
	replies   []byte
	events    []Event
	lost      Dropped
	opts      *Options
}

// extra is state that most terminals never need.
type extra struct {
	icon       string
	titles     []string // XTWINOPS 22, 23
	sgrStack   []style  // XTPUSHSGR
	savedModes map[uint32]bool
	palette    map[int]uint32
	dynamic    [10]uint32 // OSC 10–19, 1<<24 is "set"
	pointer    string
	workDir    string
	modKeys    [8]uint16 // XTMODKEYS, by resource
	sacExtent  uint8     // DECSACE
	cursorKind uint8     // DECSCUSR
	protect8   bool      // S8C1T: C1 controls in 8 bits
	latin      bool      // ESC % @: not UTF-8
	nested     uint8     // depth of passthrough
	conformity uint8     // DECSCL level, 0 = 4
	notice     *notice   // OSC 99 that is not complete
}

// New makes a terminal. It returns ErrSize for a size outside of MinCols …
// MaxRows.
func New(o Options) (*Terminal, error) {
	if o.Cols == 0 {
		o.Cols = DefaultCols
	}
	if o.Rows == 0 {
		o.Rows = DefaultRows
	}
	if !validSize(o.Cols, o.Rows) {
		return nil, ErrSize
	}
	t := &Terminal{cols: o.Cols, rows: o.Rows, nextRev: 1}
	if o != (Options{Cols: o.Cols, Rows: o.Rows}) {
		t.opts = &o
	}
	t.scr = &t.main
	t.modes = defaultModes
	if o.Width == WidthWcwidth {
		t.modes &^= modeGrapheme
	}
	t.fullMargins()
	return t, nil
}

func validSize(cols, rows int) bool {
	return cols >= MinCols && cols <= MaxCols && rows >= MinRows && rows <= MaxRows
}

// option returns the options with their defaults.
func (t *Terminal) option() Options {
	var o Options
	if t.opts != nil {
		o = *t.opts
	}
	if o.HistoryLines == 0 {
		o.HistoryLines = DefaultHistoryLines
	}
	if o.HistoryBytes <= 0 {
		o.HistoryBytes = DefaultHistoryBytes
	}
	return o
}

// more returns the rare state, made on first use.
func (t *Terminal) more() *extra {
	if t.extra == nil {
		t.extra = &extra{}
	}
	return t.extra
}

// tabStops has a bit for each column.
type tabStops [(MaxCols + 63) / 64]uint64

// Write takes bytes from the program. It never fails and never blocks, and the
// bytes may be split anywhere. It does not keep p.
func (t *Terminal) Write(p []byte) (int, error) {
	if len(p) > 0 {
		t.feed(p)
		t.commit()
	}
	return len(p), nil
}

// commit gives the changes since the last commit a revision, unless readers do
// not see them yet.
func (t *Terminal) commit() {
	if t.frozen != nil && t.frozen.follow(t) {
		t.outside = true
	}
	if t.changed && t.frozen == nil || t.outside {
		t.outside = false
		t.rev = t.nextRev
		t.nextRev++
		t.changed = false
	}
}

// Size returns the size of the screen in cells.
func (t *Terminal) Size() (cols, rows int) { return t.cols, t.rows }

// Revision changes whenever anything a reader can see changes.
func (t *Terminal) Revision() uint64 { return t.rev }

// RowRevision returns the Revision at which a row of the screen last changed;
// a row that is not on the screen has none (0).
func (t *Terminal) RowRevision(y int) uint64 {
	if y < 0 || y >= t.rows {
		return 0
	}
	s := t.seen()
	if s.rows == nil {
		return s.moved
	}
	return max(s.raw(y).rev, s.moved)
}

// Title is what the program set (OSC 0 or 2), without control characters.
func (t *Terminal) Title() string {
	if t.frozen != nil {
		return t.frozen.title
	}
	return t.title
}

// WorkDir is the working directory the program named (OSC 7), "" for none.
func (t *Terminal) WorkDir() string {
	if t.extra == nil {
		return ""
	}
	return t.extra.workDir
}

// Width is the policy in force: a program may change it (mode 2027).
func (t *Terminal) Width() WidthPolicy {
	if t.modes&modeGrapheme != 0 {
		return WidthGrapheme
	}
	return WidthWcwidth
}

// fullMargins makes the whole screen the scroll region.
func (t *Terminal) fullMargins() {
	t.top, t.bot, t.left, t.right = 0, t.rows-1, 0, t.cols-1
}
