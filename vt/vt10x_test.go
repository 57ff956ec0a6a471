package vt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"
	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// TestAgreesWithVT10x feeds the same bytes to hinshun/vt10x and to this engine,
// restricted to what both implement and vt10x implements correctly. Exclusions
// are explained in docs/vt-differences.md, "vt10x"; every exclusion below names
// its entry there.
func TestAgreesWithVT10x(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &oracleInput{cols: rapid.IntRange(4, 24).Draw(t, "cols"), rows: rapid.IntRange(3, 9).Draw(t, "rows")}
		for range rapid.IntRange(1, 60).Draw(t, "length") {
			g.draw(t)
		}
		theirs := vt10x.New(vt10x.WithSize(g.cols, g.rows))
		ours, err := vt.New(vt.Options{Cols: g.cols, Rows: g.rows})
		if err != nil {
			t.Fatal(err)
		}
		input := g.buf.String()
		theirs.Write([]byte(input))
		ours.Write([]byte(input))
		if diff := compareOracle(ours, theirs, g.cols, g.rows); diff != "" {
			t.Fatalf("%dx%d after %q: %s", g.cols, g.rows, input, diff)
		}
	})
}

// oracleInput draws control functions, tracking just enough state to stay
// within the common subset.
type oracleInput struct {
	buf        strings.Builder
	cols, rows int
	tall       bool // margins set
}

func (g *oracleInput) draw(t *rapid.T) {
	n := func(limit int) int { return rapid.IntRange(1, limit+2).Draw(t, "n") }
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0, 1, 2, 3:
		g.text(t)
	case 4:
		g.buf.WriteString(rapid.SampledFrom([]string{"\r", "\n", "\b", "\r\n", "\v", "\f", "\r\n\r\n"}).Draw(t, "c0"))
	case 5:
		fmt.Fprintf(&g.buf, "\x1b[%d;%dH", n(g.rows), n(g.cols))
	case 6:
		g.move(t, n)
	case 7:
		g.erase(t, n)
	case 8:
		g.shift(t, n)
	case 9:
		fmt.Fprintf(&g.buf, "\x1b[%sm", rapid.SampledFrom([]string{"", "0", "1", "3", "4", "5", "7", "22", "23", "24", "25", "27",
			"31", "39", "44", "49", "96", "103", "38;5;200", "48;5;17", "38;2;200;100;50", "1;4;32"}).Draw(t, "sgr"))
	case 10:
		g.buf.WriteString(rapid.SampledFrom([]string{"\x1b[D\x1bD", "\x1bE", "\x1b[D\x1bM", "\x1bH", "\x1b[g", "\x1b[3g",
			"\r\t", "\x1b[1;2H\t", "\r\x1b[2I", "\x1b[2;3H\x1b[Z", // a tab keeps a pending wrap (entry "HT")
			"\x1b(0qx\x1b(B", "\x1b[?25l", "\x1b[?25h", "\x1b[?1h", "\x1b]2;t\a"}).Draw(t, "esc"))
	case 11:
		g.mode(t)
	}
}

func (g *oracleInput) text(t *rapid.T) {
	g.buf.WriteString(rapid.StringMatching(`[ -~é─]{1,12}`).Draw(t, "text"))
}

// move draws relative movement. CUU, CUD, CNL and CPL ignore the margins in
// vt10x (entry "margins"), so they are drawn without margins only.
func (g *oracleInput) move(t *rapid.T, n func(int) int) {
	finals := "CDGad`"
	if !g.tall {
		finals += "ABEFe"
	}
	fmt.Fprintf(&g.buf, "\x1b[%d%c", n(g.cols), rapid.SampledFrom([]byte(finals)).Draw(t, "final"))
}

// erase draws ED, EL and ECH. They do not end a pending wrap in vt10x (entry
// "pending wrap"), so each is preceded by a movement; ED 1 skips the first row
// (entry "ED 1").
func (g *oracleInput) erase(t *rapid.T, n func(int) int) {
	fmt.Fprintf(&g.buf, "\x1b[%d;%dH", n(g.rows), n(g.cols))
	g.buf.WriteString(rapid.SampledFrom([]string{"\x1b[J", "\x1b[2J", "\x1b[K", "\x1b[1K", "\x1b[2K",
		fmt.Sprintf("\x1b[%dX", n(g.cols))}).Draw(t, "erase"))
}

// shift draws ICH, DCH, IL, DL, SU and SD. IL and DL keep the column in vt10x
// (entry "IL and DL"), so they are preceded by a CR.
func (g *oracleInput) shift(t *rapid.T, n func(int) int) {
	fmt.Fprintf(&g.buf, "\x1b[%d;%dH", n(g.rows), n(g.cols))
	final := rapid.SampledFrom([]byte("@PLMST")).Draw(t, "final")
	if final == 'L' || final == 'M' {
		g.buf.WriteByte('\r')
	}
	fmt.Fprintf(&g.buf, "\x1b[%d%c", n(g.cols), final)
}

// mode draws modes, margins and the saved cursor. A DECSC under a pending wrap
// (entry "DECSC") is avoided by a movement.
func (g *oracleInput) mode(t *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(t, "mode") {
	case 0:
		top := rapid.IntRange(1, g.rows-1).Draw(t, "top")
		bottom := rapid.IntRange(top+1, g.rows).Draw(t, "bottom")
		fmt.Fprintf(&g.buf, "\x1b[%d;%dr", top, bottom)
		g.tall = true
	case 1:
		g.buf.WriteString("\x1b[r")
		g.tall = false
	case 2:
		g.buf.WriteString("\r\x1b7")
	case 3:
		g.buf.WriteString("\x1b[?7l" + rapid.StringMatching(`[a-z]{1,30}`).Draw(t, "text") + "\r\x1b[?7h")
	case 4:
		g.buf.WriteString("\x1b[20h\n\x1b[20l")
	}
}

// compareOracle compares cursor, text, and the rendition of cells that are not
// blank (entry "erased cells").
func compareOracle(ours *vt.Terminal, theirs vt10x.Terminal, cols, rows int) string {
	c, o := ours.Cursor(), theirs.Cursor()
	if c.Col != o.X || c.Row != o.Y || c.Visible != theirs.CursorVisible() {
		return fmt.Sprintf("cursor %d,%d visible %v, vt10x %d,%d %v", c.Row, c.Col, c.Visible, o.Y, o.X, theirs.CursorVisible())
	}
	screen := screenCells(ours)
	for y := range rows {
		for x := range cols {
			mine, glyph := screen[y][x], theirs.Cell(x, y)
			text := string(glyph.Char)
			if glyph.Char == 0 {
				text = " "
			}
			if mine.text != text {
				return fmt.Sprintf("cell %d,%d %q, vt10x %q", y, x, mine.text, text)
			}
			if text == " " {
				continue
			}
			if a, b := strings.Join(oracleAttr(mine.attr), " "), glyphAttr(glyph); a != b {
				return fmt.Sprintf("cell %d,%d %q is %s, vt10x %s", y, x, mine.text, a, b)
			}
		}
	}
	return ""
}

// vt10x's attribute bits, which it does not export.
const (
	glyphReverse = 1 << iota
	glyphUnderline
	glyphBold
	glyphGraphics
	glyphItalic
	glyphBlink
)

// glyphAttr spells vt10x's rendition as ?attr does, colours left to glyphColour.
func glyphAttr(g vt10x.Glyph) string {
	var words []string
	for _, m := range []struct {
		bit  int16
		name string
	}{{glyphBold, "bold"}, {glyphItalic, "italic"}, {glyphUnderline, "underline"}, {glyphBlink, "blink"}, {glyphReverse, "inverse"}} {
		if g.Mode&m.bit != 0 {
			words = append(words, m.name)
		}
	}
	fg, bg := g.FG, g.BG
	if g.Mode&glyphReverse != 0 { // vt10x has swapped them already
		fg, bg = bg, fg
	}
	if g.Mode&glyphBold != 0 && fg >= 8 && fg < 16 {
		fg -= 8 // vt10x made bold bright (entry "bold is bright")
	}
	if fg != vt10x.DefaultFG {
		words = append(words, "fg="+glyphColour(fg))
	}
	if bg != vt10x.DefaultBG {
		words = append(words, "bg="+glyphColour(bg))
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, " ")
}

func glyphColour(c vt10x.Color) string {
	if c < 256 {
		return fmt.Sprint(int(c))
	}
	return fmt.Sprintf("#%06x", int(c))
}

// oracleAttr folds bright colours of bold text, which vt10x does not
// distinguish.
func oracleAttr(attr string) []string {
	words := strings.Fields(attr)
	bold := strings.Contains(attr, "bold")
	for i, w := range words {
		if bold && strings.HasPrefix(w, "fg=") {
			var n int
			if _, err := fmt.Sscanf(w, "fg=%d", &n); err == nil && n >= 8 && n < 16 {
				words[i] = fmt.Sprintf("fg=%d", n-8)
			}
		}
	}
	return words
}
