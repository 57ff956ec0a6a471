package vt

// TextWidth returns the columns that a line of text takes on a terminal, by
// graphemes. The text holds no control characters.
func TextWidth(text string) int {
	_, width := FitText(text, len(text)*2)
	return width
}

// FitText returns the longest beginning of a line of text that takes no more
// than cols columns and splits no character, and the columns it takes.
func FitText(text string, cols int) (fits string, width int) {
	b := []byte(text)
	n := 0
	for n < len(b) {
		k, w := nextCluster(b[n:], true)
		if width+w > cols {
			break
		}
		n, width = n+k, width+w
	}
	return text[:n], width
}
