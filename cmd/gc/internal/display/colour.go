// Package display writes what commands show a person: cleaned text, colours,
// tables, the lines of several sources, a progress line.
//
// Its invariant: what programs made (screens, titles, names, error text) never
// reaches a terminal raw, because a terminal would obey its control characters.
// It knows nothing about sessions, agents or cities.
package display

// Colour is the parameters of SGR (ECMA-48 8.3.117); "" is none.
type Colour string

// The colours in use.
const (
	Plain  Colour = ""
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Dim    Colour = "2"
	Bold   Colour = "1"
)

// nameColours tell the sources of merged lines apart; none of them is red.
var nameColours = []Colour{"36", "33", "32", "35", "34", "96", "93", "92", "95", "94"}

// Paint colours text, which must hold no control characters.
func (c Colour) Paint(text string) string {
	if c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
