package vt

import "errors"

// Limits of a terminal's size, in cells.
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

// ErrSize is returned for a size outside MinCols×MinRows … MaxCols×MaxRows.
var ErrSize = errors.New("terminal size out of range (2x1 to 2000x2000)")

// WidthPolicy selects how many columns a character takes.
type WidthPolicy uint8

const (
	// WidthGrapheme measures whole grapheme clusters (mode 2027 set).
	WidthGrapheme WidthPolicy = iota
	// WidthWcwidth measures each code point, as the C library does, for
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

// Options configure a terminal; the zero value is right.
type Options struct {
	Cols, Rows   int         // 0 = 80x24
	HistoryLines int         // rows of history kept; 0 = 100,000; < 0 = no history
	HistoryBytes int64       // bytes of history kept; 0 = 64 MiB
	Version      string      // reported by XTVERSION
	Pages        Pages       // stores sealed pages of history; nil = in memory
	Width        WidthPolicy // columns of a character
	Pipe         bool        // the program's stdin is a pipe: input modes (inputModes) are ignored
}

// Terminal is an emulated terminal. It is not safe for concurrent use: its
// owner serialises all calls, readers included.
type Terminal struct {
	cols, rows int
	x, y       int
	pending    bool // the next character wraps first (last column flag)
	changed    bool // something readers see changed since the last Write
	outside    bool // something not held back by synchronized updates changed
	slow       bool // text needs a charset, insert mode or a single shift

	top, bot    int // scroll region, inclusive
	left, right int // margins, inclusive (DECSLRM)

	host  *HostTerminal // the host terminal; nil: unknown
	pen   pen
	last  lastText
	chars charsets
	modes modeSet
	mixed bool // characters may come out differently when written again, see exact.go
	scr   *screen

	parser parser
	rev    uint64
	// nextRev is the value of rev if this Write changes something: the revision
	// of the rows it touches.
	nextRev uint64

	main, alt screen
	tabs      *tabStops // nil = every eighth column
	styles    styles
	links     *interned[link]
	clusters  interned[cluster]
	hist      *history
	frozen    *frozen // what readers see during a synchronized update
	spare     *frozen // its memory, kept for the next update
	extra     *extra  // rarely used state
	lasted    lasting // what the program has ever set, RIS or not
	lastings  uint32  // see Lastings
	packed    *[]byte // the screens, see Pack
	held      bool    // a resize is in progress: interned values are not swept
	title     string
	replies   []byte
	events    []Event
	lost      Dropped
	opts      *Options
}

// extra is state that most terminals never need.
type extra struct {
	icon       string       // "" is the title
	titles     []savedTitle // XTWINOPS 22, 23
	sgrStack   []style      // XTPUSHSGR
	savedModes map[uint32]bool
	palette    map[int]uint32
	dynamic    [10]uint32 // OSC 10–19, 1<<24 is "set"
	pointer    string
	progress   progress
	workDir    string
	modKeys    [8]uint16 // XTMODKEYS, by resource
	sacExtent  uint8     // DECSACE
	cursorKind uint8     // DECSCUSR
	protect8   bool      // S8C1T: C1 controls in 8 bits
	latin      bool      // ESC % @: UTF-8 is off
	nested     uint8     // depth of passthrough
	conformity uint8     // DECSCL level, 0 = 4
	notice     *notice   // an incomplete OSC 99
}

// progress is OSC 9;4: what is shown, 0 for nothing.
type progress struct {
	State   int `json:"state"`
	Percent int `json:"percent"`
}

// New makes a terminal. It returns ErrSize for a size outside MinCols×MinRows …
// MaxCols×MaxRows.
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

// option returns the options with defaults applied.
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

// more returns the rare state, allocated on first use.
func (t *Terminal) more() *extra {
	if t.extra == nil {
		t.extra = &extra{}
	}
	return t.extra
}

// tabStops has one bit per column.
type tabStops [(MaxCols + 63) / 64]uint64

// Write feeds the program's output. It never fails, never blocks and does not
// retain p; the bytes may be split anywhere.
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

// Revision changes whenever anything a reader can see changes. It never
// decreases, and survives Snapshot and Restore.
func (t *Terminal) Revision() uint64 { return t.rev }

// RowRevision returns the Revision at which a screen row last changed, 0 for a
// row outside the screen.
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

// Title returns the title set by the program (OSC 0 or 2), without control
// characters. At most 1024 bytes.
func (t *Terminal) Title() string {
	if t.frozen != nil {
		return t.frozen.title
	}
	return t.title
}

// WorkDir returns the working directory the program reported (OSC 7), "" if
// none.
func (t *Terminal) WorkDir() string {
	if t.extra == nil {
		return ""
	}
	return t.extra.workDir
}

// Width returns the current policy: a program may change it (mode 2027).
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
