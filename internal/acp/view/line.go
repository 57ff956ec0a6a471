package view

// Styles: parameters of SGR.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

// line is one line of the conversation, or one row of the live region. The text is
// clean and has no newline.
type line struct {
	text, style string
	mark        string // after the text, with a style of its own
	markStyle   string
}

// plain returns the line as it looks without styles.
func (l line) plain() string {
	if l.mark == "" {
		return l.text
	}
	return l.text + " " + l.mark
}

// appendTo appends the line with its styles.
func (l line) appendTo(dst []byte) []byte {
	dst = appendStyled(dst, l.text, l.style)
	if l.mark != "" {
		dst = appendStyled(append(dst, ' '), l.mark, l.markStyle)
	}
	return dst
}

func appendStyled(dst []byte, text, style string) []byte {
	if style == "" || text == "" {
		return append(dst, text...)
	}
	dst = append(append(append(dst, "\x1b["...), style...), 'm')
	return append(append(dst, text...), "\x1b[m"...)
}
