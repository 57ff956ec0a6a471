package vt

// TextWidth returns the number of columns of a line of text, by grapheme
// clusters. The text must not contain control characters.
func TextWidth(text string) int {
	_, width := FitText(text, len(text)*2)
	return width
}

// FitText returns the longest prefix of a line of text that takes at most cols
// columns and splits no character, and its width in columns.
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
