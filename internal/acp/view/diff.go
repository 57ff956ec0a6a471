package view

import (
	"fmt"
	"strings"
)

// Limits of diffs.
const (
	diffContext = 3
	diffCells   = 1 << 18 // of the table; larger changes are shown as one
)

// change is one line of a diff: ' ', '-' or '+'.
type change struct {
	op   byte
	text string
}

// diff compares two texts line by line.
func diff(before, after string) []change {
	a, b := splitLines(before), splitLines(after)
	var head, foot []change
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head, a, b = append(head, change{' ', a[0]}), a[1:], b[1:]
	}
	same := 0
	for same < len(a) && same < len(b) && a[len(a)-1-same] == b[len(b)-1-same] {
		same++
	}
	for _, l := range a[len(a)-same:] {
		foot = append(foot, change{' ', l})
	}
	return append(append(head, middle(a[:len(a)-same], b[:len(b)-same])...), foot...)
}

// middle is diff by the longest common subsequence.
func middle(a, b []string) []change {
	var out []change
	next := func(i, j int) byte { // without a table: first all that go
		if i < len(a) {
			return '-'
		}
		return '+'
	}
	if len(a)*len(b) <= diffCells {
		common := commonLines(a, b)
		next = func(i, j int) byte {
			switch {
			case i < len(a) && j < len(b) && a[i] == b[j]:
				return ' '
			case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
				return '-'
			}
			return '+'
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch op := next(i, j); op {
		case '+':
			out, j = append(out, change{op, b[j]}), j+1
		case ' ':
			out, i, j = append(out, change{op, a[i]}), i+1, j+1
		default:
			out, i = append(out, change{op, a[i]}), i+1
		}
	}
	return out
}

// commonLines is the table of the lengths of the longest common subsequences of
// a[i:] and b[j:].
func commonLines(a, b []string) [][]uint16 {
	table := make([][]uint16, len(a)+1)
	for i := range table {
		table[i] = make([]uint16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// count returns how many lines a diff adds and removes.
func count(changes []change) (added, removed int) {
	for _, c := range changes {
		switch c.op {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// unified returns a diff's lines with three lines of context.
func unified(changes []change) []line {
	var out []line
	oldLine, newLine, from := 1, 1, 0
	for from < len(changes) {
		to := from + hunk(changes[from:])
		start := from
		for start < to && changes[start].op == ' ' {
			start++
		}
		if start == to {
			break
		}
		skip := max(start-from-diffContext, 0)
		end := min(lastChange(changes[:to])+1+diffContext, to)
		part := changes[from+skip : end]
		added, removed := count(part)
		same := len(part) - added - removed
		out = append(out, line{text: fmt.Sprintf("@@ -%d,%d +%d,%d @@", oldLine+skip, same+removed, newLine+skip, same+added), style: dim})
		for _, c := range part {
			out = append(out, line{text: string(c.op) + clean(c.text), style: changeStyles[c.op]})
		}
		added, removed = count(changes[from:to])
		oldLine += to - from - added
		newLine += to - from - removed
		from = to
	}
	return out
}

var changeStyles = map[byte]string{'+': green, '-': red, ' ': ""}

// hunk returns the length of the first part of a diff: up to where so many lines are
// unchanged that the context before and after does not meet.
func hunk(changes []change) int {
	seen, same := false, 0
	for i, c := range changes {
		if c.op != ' ' {
			seen, same = true, 0
			continue
		}
		if same++; seen && same > 2*diffContext {
			return i + 1 - diffContext
		}
	}
	return len(changes)
}

func lastChange(changes []change) int {
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].op != ' ' {
			return i
		}
	}
	return -1
}

func splitLines(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
