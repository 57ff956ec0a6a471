package plan

import "gascity.dev/gc/internal/agent"

// Claim is what a running session, its metadata and its processes say about it.
type Claim struct {
	City         string // whose mark it bears; "" for none
	Agent        string // "" if unknown
	ID, Token    string // of the incarnation; ID is "" if unknown
	Epoch        int64
	Hashes       agent.Hashes
	Drain        Drain // one that an earlier controller began
	RestartAsked bool

	InProcess    bool // the processes say which incarnation they are
	ProcessEpoch int64
}

// Adopter is the city that looks at a running session, and what it wants under
// the session's name.
type Adopter struct {
	City    string
	Run     string // id of this gc start
	Wanted  bool   // the config wants the session's name
	OneShot bool
}

// Adoption is what a running session is to the city.
type Adoption int

// The adoptions.
const (
	Foreign  Adoption = iota // not this city's: leave it alone
	Occupied                 // this city's, but another agent runs in it
	Known                    // this city's, and already known or not wanted
	Adopted                  // this city's, and taken over now
	Unmarked                 // as Adopted, but its start was cut short: mark it
)

// Adopt decides who owns a running session and returns what is then known about
// it. It does not change s.Presence.
func Adopt(by Adopter, s Seen, c Claim) (Seen, Adoption) {
	if c.City != by.City {
		s.Owned = false
		return s, Foreign
	}
	s.Owned = true
	if c.Agent != "" && c.Agent != s.Agent {
		s.Occupant = c.Agent
	}
	if !c.Drain.Since.IsZero() {
		s.Drain = c.Drain
	}
	if by.Wanted && s.Occupant != "" { // it got the name while the other agent had it
		return s, Occupied
	}
	s.Hashes, s.RestartAsked = c.Hashes, c.RestartAsked
	r := &s.Record
	if c.ID != "" {
		r.ID, r.Token, r.Epoch = c.ID, c.Token, max(r.Epoch, c.Epoch)
	}
	if c.InProcess && c.ProcessEpoch != r.Epoch { // of another start than the record's
		r.Token, r.Epoch, r.StartedWith = "", max(r.Epoch, c.ProcessEpoch), ""
	}
	if !by.Wanted || s.Presence == Alive {
		return s, Known
	}
	if by.OneShot && r.Job.Run == "" {
		r.Job.Run, r.Job.Hash = by.Run, s.Hashes.Core
	}
	r.Open, r.PutOff, r.Unsure = true, 0, false
	if c.Hashes.Core == "" {
		return s, Unmarked
	}
	return s, Adopted
}
