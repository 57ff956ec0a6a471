package vt

// cell is one column of a row, without pointers:
//
//	bits  0–20  rune, or number of a cluster
//	bit   21    the number is a cluster's
//	bits 22–23  kind: narrow, wide, tail, spacer
//	bits 24–39  style number
//	bits 40–55  link number
//	bit   56    protected (DECSCA)
//	bits 57–58  semantic: output, prompt, input (OSC 133)
//
// The zero cell is blank: erased, never written, in the default style.
type cell uint64

const (
	cellContent cell = 1<<22 - 1 // rune or cluster, with its flag
	cellRune    cell = 1<<21 - 1
	cellCluster cell = 1 << 21

	cellKind   cell = 3 << 22
	cellNarrow cell = 0 << 22 // one column
	cellWide   cell = 1 << 22 // left half of two columns
	cellTail   cell = 2 << 22 // right half of the wide cell to the left
	cellSpacer cell = 3 << 22 // last column, empty because a wide cell did not fit

	cellGlyph cell = 1<<24 - 1 // content and kind
	cellAttr       = ^cellGlyph

	cellStyleShift      = 24
	cellStyle      cell = 0xffff << cellStyleShift
	cellLinkShift       = 40
	cellLink       cell = 0xffff << cellLinkShift
	cellProtected  cell = 1 << 56

	cellSemShift      = 57
	cellSem      cell = 3 << cellSemShift
)

func (c cell) style() uint16 { return uint16(c >> cellStyleShift) }
func (c cell) link() uint16  { return uint16(c >> cellLinkShift) }
func (c cell) kind() cell    { return c & cellKind }
func (c cell) isWide() bool  { return c&cellKind == cellWide }
func (c cell) isTail() bool  { return c&cellKind == cellTail }

// blanked returns the cell without its content, in its style: what is left of a
// wide character when its other half is overwritten.
func (c cell) blanked() cell {
	if c&cellStyle == 0 {
		return 0
	}
	return c&cellStyle | ' '
}

// Semantic values of a cell (OSC 133).
const (
	semOutput = 0
	semPrompt = 1
	semInput  = 2
)
