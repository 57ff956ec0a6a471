package runtime

import "strings"

// LastLines returns the last n lines of text as Peek does: without trailing blanks
// and trailing blank rows; n <= 0 means all.
func LastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
