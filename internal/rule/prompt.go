package rule

import "strings"

// IsPrompt reports whether a line of the screen begins with an agent's ready
// prefix. Frames and blanks before it are ignored; a prefix that ends in blanks
// may also end the line without them, and one that begins with a frame is
// matched including the frame.
func IsPrompt(line, prefix string) bool {
	line = strings.TrimLeft(strings.ReplaceAll(line, "\u00a0", " "), " \t")
	if prefix != "" && strings.Trim(prefix, "│┃║| ") == "" {
		return strings.HasPrefix(line, strings.TrimRight(prefix, " "))
	}
	line = strings.TrimLeft(line, "│┃║| ")
	bare := strings.TrimRight(prefix, " ")
	return strings.HasPrefix(line, prefix) || bare != "" && strings.TrimRight(line, " │┃║|") == bare
}
