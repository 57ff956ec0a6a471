package vt

// Bounds on what a program can make the terminal keep, in bytes. Control
// strings (strings.go), events, replies and the history have their own;
// everything else is bounded by the size of the screen.
const (
	maxLinkText       = 1 << 20 // links of both screens
	maxClusterText    = 4 << 20 // characters of several code points
	maxOpenRenditions = 4 * pageSize
	renditionBytes    = 64 // size of a rendition in a page of history, without its link
)

// Dropped counts what was dropped because a limit was reached.
type Dropped struct {
	Links    uint64 `json:"links,omitempty"`    // hyperlinks; their text is kept
	Styles   uint64 `json:"styles,omitempty"`   // renditions; shown as the default
	Clusters uint64 `json:"clusters,omitempty"` // characters of several code points; the first is shown
	Strings  uint64 `json:"strings,omitempty"`  // control strings longer than their limit
	Events   uint64 `json:"events,omitempty"`   // events not taken in time
	Replies  uint64 `json:"replies,omitempty"`  // replies not taken in time
}

// Dropped returns the counts since New or Restore.
func (t *Terminal) Dropped() Dropped { return t.lost }

// linkBudget bounds the link text in a dump: a link that alternates with
// another is written again for every cell.
type linkBudget struct{ used int }

// linkRatio is how many bytes of links each byte of other text allows, beyond
// maxLinkText.
const linkRatio = 4

// take reports whether a link fits, given the bytes written so far.
func (b *linkBudget) take(l link, written int) bool {
	n := len(l.id) + len(l.uri)
	if b.used+n > maxLinkText+linkRatio*(written-b.used) {
		return false
	}
	b.used += n
	return true
}
