package cells

import (
	"unicode"

	"gascity.dev/gc/vt"
)

// Find returns where a text is in a row, whatever the case, with a look for each place.
func Find(l vt.Line, text string, look Look) []Mark {
	if text == "" {
		return nil
	}
	var runes []rune
	var cols []int // of each rune, and of the end
	at := 0
	for _, run := range l.Runs {
		i := 0
		for _, r := range run.Text {
			runes, cols = append(runes, unicode.ToLower(r)), append(cols, at)
			at += digit(run.Columns, i)
			i++
		}
	}
	cols = append(cols, at)
	needle := make([]rune, 0, len(text))
	for _, r := range text {
		needle = append(needle, unicode.ToLower(r))
	}
	var found []Mark
	for i := 0; i+len(needle) <= len(runes); i++ {
		if equal(runes[i:i+len(needle)], needle) {
			found = append(found, Mark{From: cols[i], To: cols[i+len(needle)], Look: look})
			i += len(needle) - 1
		}
	}
	return found
}

func equal(a, b []rune) bool {
	for i := range b {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
