package attach

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gascity.dev/gc/vt"
)

// mode is a mode of a terminal, and what vt.AppendReset leaves it at.
type mode struct {
	n   int
	dec bool // a DEC private mode, otherwise one of ECMA-48
	on  bool
}

// resetModes are the modes that vt.AppendReset sets and that a person's terminal may have
// had otherwise. The alternate screen is not among them: what it showed is gone. Nor are
// the origin mode and the left and right margins, whose margins no terminal tells.
var resetModes = [...]mode{
	{2026, true, false}, {2031, true, false},
	{9, true, false}, {1000, true, false}, {1002, true, false}, {1003, true, false}, {1005, true, false},
	{1006, true, false}, {1015, true, false}, {1016, true, false}, {1004, true, false}, {2004, true, false},
	{2033, true, false}, {2048, true, false}, {1, true, false}, {66, true, false}, {5, true, false},
	{7, true, true}, {42, true, false}, {45, true, false}, {1045, true, false}, {67, true, false}, {1007, true, true},
	{12, true, false}, {25, true, true}, {4, false, false}, {20, false, false},
}

// before is what a person's terminal was set to before the attachment, as far as it says.
// The question is written before the first paint, so that the answers, whenever they come,
// are about the time before it.
type before struct {
	mu     sync.Mutex
	asked  bool
	modes  []mode // that were not as vt.AppendReset leaves them
	flags  int    // of the kitty keyboard protocol
	shapes []int  // DECSCUSR: before, and of a terminal whose shape was reset
	tabs   []int  // columns of tab stops, from 1; nil if the terminal did not tell
}

// question asks for the modes (DECRQM), the keyboard flags (kitty), the cursor's shape
// (DECRQSS) and the tab stops (DECRQPSR), and saves the title and icon (XTWINOPS 22).
func (b *before) question() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = true
	var s strings.Builder
	for _, m := range resetModes {
		fmt.Fprintf(&s, "\x1b[%s%d$p", m.prefix(), m.n)
	}
	s.WriteString("\x1b[?u" + askShape + "\x1b[2$w\x1b[22;0t")
	return s.String()
}

// askShape asks for the cursor's shape. It is asked again after vt.AppendModes, because some
// terminals tell the shape that they are configured to have, and 0 is that.
const askShape = "\x1bP$q q\x1b\\"

func (m mode) prefix() string {
	if m.dec {
		return "?"
	}
	return ""
}

// take notes an answer to the question; false if it is none.
func (b *before) take(reply string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := strings.CutPrefix(reply, "\x1b["); ok {
		if text, ok := strings.CutSuffix(s, "$y"); ok {
			b.takeMode(text)
			return true
		}
		if text, ok := strings.CutSuffix(s, "u"); ok && strings.HasPrefix(text, "?") {
			b.flags, _ = strconv.Atoi(text[1:])
			return true
		}
		return false
	}
	text := strings.TrimRight(reply, "\x1b\\")
	if list, ok := strings.CutPrefix(text, "\x1bP2$u"); ok {
		b.takeTabs(list)
		return true
	}
	s, ok := strings.CutPrefix(text, "\x1bP1$r")
	if text, isShape := strings.CutSuffix(s, " q"); ok && isShape {
		n, _ := strconv.Atoi(text)
		b.shapes = append(b.shapes, n)
	}
	return ok
}

// takeMode notes DECRPM: mode ; 1 set, 2 reset, 3 and 4 permanently so, 0 unknown.
func (b *before) takeMode(text string) {
	text, dec := strings.CutPrefix(text, "?")
	number, state, _ := strings.Cut(text, ";")
	n, err := strconv.Atoi(number)
	if err != nil || state != "1" && state != "2" {
		return
	}
	i := slices.IndexFunc(resetModes[:], func(m mode) bool { return m.n == n && m.dec == dec })
	if on := state == "1"; i >= 0 && on != resetModes[i].on {
		b.modes = append(b.modes, mode{n, dec, on})
	}
}

// takeTabs notes DECTABSR: columns with slashes between.
func (b *before) takeTabs(list string) {
	b.tabs = []int{}
	for field := range strings.SplitSeq(list, "/") {
		if n, err := strconv.Atoi(field); err == nil && n > 0 && n <= vt.MaxCols {
			b.tabs = append(b.tabs, n)
		}
	}
}

// tabStops appends the tab stops: as before, or else every eighth column of cols, because few
// terminals know DECST8C. It moves the cursor within its row.
func (b *before) tabStops(dst []byte, cols int) []byte {
	tabs := b.tabs
	if tabs == nil {
		for n := 1; n <= cols; n += 8 {
			tabs = append(tabs, n)
		}
	}
	if b.tabs == nil && cols == 0 {
		return dst
	}
	dst = append(dst, "\x1b[3g"...)
	for _, n := range tabs {
		dst = fmt.Appendf(dst, "\x1b[%dG\x1bH", n)
	}
	return append(dst, '\r')
}

// restore appends what sets the terminal of cols columns, or 0, as it was, after
// vt.AppendReset.
func (b *before) restore(dst []byte, cols int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.asked {
		return dst
	}
	for _, m := range b.modes {
		final := 'l'
		if m.on {
			final = 'h'
		}
		dst = fmt.Appendf(dst, "\x1b[%s%d%c", m.prefix(), m.n, final)
	}
	if b.flags > 0 {
		dst = fmt.Appendf(dst, "\x1b[=%du", b.flags)
	}
	if len(b.shapes) == 2 && b.shapes[0] != b.shapes[1] {
		dst = fmt.Appendf(dst, "\x1b[%d q", b.shapes[0])
	}
	return append(b.tabStops(dst, cols), "\x1b[23;0t"...)
}
