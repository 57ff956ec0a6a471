package server

import (
	"gascity.dev/gc/mux/journal"
)

// storage is what of a session outlives the server: the journal, the history file and
// the recording. session.mu guards it.
type storage struct {
	s         *session
	journal   *journal.Journal
	history   *journal.History
	recording *journal.Recording // nil without
	pending   []byte             // the sequence that was unfinished where the journal's segment begins
	compactAt journal.Place      // where compactSegment looked last
	stall     stall
}
