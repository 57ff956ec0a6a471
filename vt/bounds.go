package vt

// Bounds of what a program can make the terminal keep, in bytes, beside those of
// control strings (strings.go), events, replies and the history. Everything else
// is bounded by the size of the screen.
const (
	maxLinkText    = 1 << 20 // links of both screens
	maxClusterText = 4 << 20 // characters of several code points
	maxOpenLooks   = 4 * pageSize
	lookBytes      = 64 // a rendition in a page of history, without its link
)

// Dropped counts what was left out because a bound was reached.
type Dropped struct {
	Links    uint64 `json:"links,omitempty"`    // hyperlinks; their text is there
	Styles   uint64 `json:"styles,omitempty"`   // renditions; shown in the default one
	Clusters uint64 `json:"clusters,omitempty"` // characters of several code points; the first is shown
	Strings  uint64 `json:"strings,omitempty"`  // control strings that were too long
	Events   uint64 `json:"events,omitempty"`   // what the owner did not take in time
	Replies  uint64 `json:"replies,omitempty"`  // answers that nobody fetched
}

// Dropped returns what was left out since the terminal was made.
func (t *Terminal) Dropped() Dropped { return t.lost }

// linkBudget bounds the links in what is written for a reader: a link that
// alternates with another one would be written for every cell.
type linkBudget struct{ used int }

// linkRatio is how many bytes of links come with a byte of other text, beyond
// maxLinkText.
const linkRatio = 4

// take reports whether a link fits into what has so many bytes by now.
func (b *linkBudget) take(l link, written int) bool {
	n := len(l.id) + len(l.uri)
	if b.used+n > maxLinkText+linkRatio*(written-b.used) {
		return false
	}
	b.used += n
	return true
}
