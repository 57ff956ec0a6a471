package copymode

import "strings"

// look searches for the pattern from the cursor on, and goes on at the other end.
func (m *Model) look(back bool) {
	if m.pattern == "" {
		m.message = "no search yet: / and ? begin one"
		return
	}
	if m.within(back) {
		return
	}
	from, ok := m.cursor.line+1, m.cursor.line+1 < m.lines.end
	if back {
		from, ok = m.cursor.line-1, m.cursor.line > m.lines.first
	}
	var n uint64
	if ok {
		n, ok = m.scan(from, back)
	}
	if !ok && m.lines.err == nil {
		from = m.lines.first
		if back {
			from = m.lines.end - 1
		}
		if n, ok = m.scan(from, back); ok {
			m.message = "search continued at the other end"
		}
	}
	switch found := m.found(n, ok); {
	case m.lines.err != nil:
	case !ok:
		m.message = "not found: " + m.pattern
	case len(found) == 0:
		m.jump(pos{line: n})
	case back:
		m.jump(pos{n, found[len(found)-1][0]})
	default:
		m.jump(pos{n, found[0][0]})
	}
}

// found returns the matches of a line.
func (m *Model) found(n uint64, ok bool) [][2]int {
	if !ok {
		return nil
	}
	return m.line(n).matches(m.pattern, m.fold)
}

// within goes to the next match in the cursor's line.
func (m *Model) within(back bool) bool {
	found := m.found(m.cursor.line, true)
	if !back {
		for _, f := range found {
			if f[0] > m.cursor.at {
				m.jump(pos{m.cursor.line, f[0]})
				return true
			}
		}
		return false
	}
	for i := len(found) - 1; i >= 0; i-- {
		if found[i][0] < m.cursor.at {
			m.jump(pos{m.cursor.line, found[i][0]})
			return true
		}
	}
	return false
}

// scan returns the first line with a match, from line from on.
func (m *Model) scan(from uint64, back bool) (uint64, bool) {
	ls := m.lines
	if back {
		for n := from; n >= ls.closed; n-- {
			if len(m.found(n, true)) > 0 {
				return n, true
			}
			if n == 0 {
				return 0, false
			}
		}
		return m.scanHistory(min(from, ls.closed-min(ls.closed, 1)), true)
	}
	if from < ls.closed {
		if n, ok := m.scanHistory(from, false); ok || ls.err != nil {
			return n, ok
		}
		from = ls.closed
	}
	for n := from; n < ls.end; n++ {
		if len(m.found(n, true)) > 0 {
			return n, true
		}
	}
	return 0, false
}

// scanHistory is scan in the history.
func (m *Model) scanHistory(from uint64, back bool) (uint64, bool) {
	ls := m.lines
	if ls.first >= ls.closed || ls.err != nil {
		return 0, false
	}
	n, ok, err := ls.source.Find(m.pattern, m.fold, from, back)
	if err != nil {
		ls.err = err
		return 0, false
	}
	return n, ok && n < ls.closed // later lines are on the screen here
}

// jump moves the cursor; a place that is not shown comes into the middle.
func (m *Model) jump(to pos) {
	m.cursor = to
	at := m.spotOf(to)
	if last, _ := m.down(m.top, m.rows-1); at.before(m.top) || last.before(at) {
		m.top, _ = m.up(at, m.rows/2)
	}
	m.keepColumn()
}

// search begins a search. Case means something if the pattern has a capital.
func (m *Model) search(pattern string, back bool) {
	m.fold = strings.ToLower(pattern) == pattern
	m.pattern, m.back = pattern, back
	m.look(back)
}
