package vt

// Screen is the visible screen as data.
type Screen struct {
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	Revision uint64 `json:"revision"`
	Title    string `json:"title,omitempty"`
	WorkDir  string `json:"workDir,omitempty"`
	Cursor   Cursor `json:"cursor"`
	Modes    Modes  `json:"modes"`
	Lines    []Line `json:"lines"` // one for each row
}

// Line is a row of the screen.
type Line struct {
	Runs    []Run `json:"runs,omitempty"`    // text from column 0, trailing blanks trimmed
	Wrapped bool  `json:"wrapped,omitempty"` // continues on the next row
	Prompt  bool  `json:"prompt,omitempty"`  // a prompt begins here (OSC 133)
}

// Run is text in one rendition.
type Run struct {
	Text  string `json:"text"`
	Style Style  `json:"style,omitzero"`
	Link  string `json:"link,omitempty"` // URI (OSC 8)
}

// Screen returns the screen as data.
func (t *Terminal) Screen() Screen {
	s := Screen{
		Cols: t.cols, Rows: t.rows, Revision: t.rev, Title: t.Title(), WorkDir: t.WorkDir(),
		Cursor: t.Cursor(), Modes: t.Modes(), Lines: make([]Line, t.rows),
	}
	view := t.seen()
	var links linkBudget
	for y := range s.Lines {
		s.Lines[y] = t.line(view, y, &links)
	}
	return s
}

// blankRun reports whether a cell is blank in the default rendition, written or
// not.
func blankRun(c cell) bool {
	c &^= cellProtected | cellSem
	return c == 0 || c == ' ' || c == cellSpacer
}

func (t *Terminal) line(s *screen, y int, links *linkBudget) Line {
	r := s.view(y)
	l := Line{Wrapped: r.flags&rowWrapped != 0, Prompt: r.flags&rowPrompt != 0}
	n := r.length()
	for n > 0 && blankRun(r.cells[n-1]) {
		n--
	}
	const same = cellStyle | cellLink
	var text []byte
	for x := 0; x < n; {
		attr := r.cells[x] & same
		text = text[:0]
		for ; x < n && r.cells[x]&same == attr; x++ {
			c := r.cells[x]
			switch {
			case c.isTail(), c.kind() == cellSpacer && x == t.cols-1 && s.wideBelow(y):
			case c&cellContent == 0:
				text = append(text, ' ')
			default:
				text = appendContent(text, t, c)
			}
		}
		if len(text) > 0 {
			run := Run{Text: string(text), Style: t.styles.get(attr.style()).public()}
			if id := attr.link(); id != 0 {
				if l := t.links.get(uint32(id)); links.take(l, links.used) {
					run.Link = l.uri
				}
			}
			l.Runs = append(l.Runs, run)
		}
	}
	return l
}
