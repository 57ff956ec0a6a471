package rule

import "strings"

// IsPrompt reports whether a line of the screen begins with an agent's ready
// prefix. A frame and blanks before it do not count; a prefix that ends in
// blanks also stands alone at the end of a line, and one that begins with a frame
// is looked for in front of it.
func IsPrompt(line, prefix string) bool {
	line = strings.TrimLeft(strings.ReplaceAll(line, "\u00a0", " "), " \t")
	if prefix != "" && strings.Trim(prefix, "│┃║| ") == "" {
		return strings.HasPrefix(line, strings.TrimRight(prefix, " "))
	}
	line = strings.TrimLeft(line, "│┃║| ")
	bare := strings.TrimRight(prefix, " ")
	return strings.HasPrefix(line, prefix) || bare != "" && strings.TrimRight(line, " │┃║|") == bare
}
