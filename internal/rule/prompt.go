package rule

import "strings"

// IsPrompt reports whether a line of the screen begins with an agent's ready
// prefix. A frame and blanks before it do not count; a prefix that ends in
// blanks also stands alone at the end of a line.
func IsPrompt(line, prefix string) bool {
	line = strings.ReplaceAll(line, "\u00a0", " ")
	line = strings.TrimLeft(strings.TrimLeft(line, " \t"), "│┃║| ")
	bare := strings.TrimRight(prefix, " ")
	return strings.HasPrefix(line, prefix) || bare != "" && strings.TrimRight(line, " │┃║|") == bare
}
