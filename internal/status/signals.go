package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/vt"
)

// holdIdle is how long an idle report must last after work: agents send it
// briefly between two steps.
const holdIdle = 1500 * time.Millisecond

// States of a shell (OSC 133).
const (
	shellPrompt  = "prompt"  // A, B: waiting for a command
	shellCommand = "command" // C: running one
)

// signals is what the program sent to its terminal: records of OSC 7501 (least
// recently updated first), OSC 133 marks, OSC 9;4 progress. Told is what came otherwise.
type signals struct {
	Records    []record   `json:"records,omitempty"`
	Shell      string     `json:"shell,omitempty"` // "": none received, or the command ended
	ShellSince time.Time  `json:"shellSince,omitzero"`
	ShellHeld  bool       `json:"shellHeld,omitempty"` // a command ran before the prompt
	Busy       bool       `json:"busy,omitempty"`      // progress is shown
	Percent    int        `json:"percent,omitempty"`
	BusySince  time.Time  `json:"busySince,omitzero"`
	Seen       time.Time  `json:"seen,omitzero"`     // earlier results are not news
	Limit      *seenLimit `json:"limit,omitempty"`   // the message of a limit on the screen
	Refused    string     `json:"refused,omitempty"` // last report of another program that was rejected
	Told       told       `json:"told,omitzero"`
}

// apply applies an event and reports whether anything changed. group returns
// the foreground process group, 0 if unknown.
func (s *signals) apply(e vt.Event, now time.Time, group func() int) bool {
	switch e.Kind {
	case vt.EventStatus:
		return s.report(e.Text, now, group)
	case vt.EventPrompt:
		s.mark(e.Name, now)
		return true
	case vt.EventProgress:
		busy := e.State == 1 || e.State == 3 // normal, indeterminate
		if busy == s.Busy {
			s.Percent = e.Percent
			return false
		}
		s.Busy, s.Percent, s.BusySince = busy, e.Percent, now
		return true
	case vt.EventReset:
		*s = signals{Told: s.Told} // the terminal is reset, not the agent
		return true
	}
	return false
}

// report applies a report, unless it is another program's.
func (s *signals) report(text string, now time.Time, group func() int) bool {
	r, err := parseReport(text)
	if err != nil {
		return false
	}
	if r.ID != "" || r.State == stateClear || s.owns(&r, group) {
		s.put(r, now)
	}
	return true
}

// put replaces a record by a report, or clears records.
func (s *signals) put(r record, now time.Time) {
	if r.State == stateClear {
		s.drop(func(old record) bool {
			return r.ID == "" || old.ID == r.ID || strings.HasPrefix(old.ID, r.ID+"/")
		})
		return
	}
	r.Since = now
	if i := slices.IndexFunc(s.Records, func(old record) bool { return old.ID == r.ID }); i >= 0 {
		r.follow(&s.Records[i])
		s.Records = slices.Delete(s.Records, i, i+1)
	} else if len(s.Records) >= maxRecords {
		s.Records = slices.Delete(s.Records, 0, 1)
	}
	s.Records = append(s.Records, r)
}

// owns reports whether a record without an id is the program's own. While a
// program works or asks, one with another name from the same process group is
// from a child, or from a recording being shown.
func (s *signals) owns(r *record, group func() int) bool {
	i := slices.IndexFunc(s.Records, func(old record) bool { return old.ID == "" })
	if i >= 0 && s.Records[i].App == r.App {
		r.Group = s.Records[i].Group
		return true
	}
	r.Group = group()
	if i < 0 || !isUnderWay(s.Records[i]) || r.App == "" || s.Records[i].App == "" || r.Group == 0 || r.Group != s.Records[i].Group {
		s.Refused = ""
		return true
	}
	s.Refused = fmt.Sprintf("%s said state=%s, rejected while %s works in the same process group", r.App, r.State, s.Records[i].App)
	return false
}

// mark applies a shell's prompt mark. A new prompt ends the reports of the
// command before it.
func (s *signals) mark(name string, now time.Time) {
	state := ""
	switch name {
	case "A", "B":
		state = shellPrompt
	case "C":
		state = shellCommand
	}
	if name == "A" {
		s.drop(isUnderWay)
	}
	if name == "A" || name == "D" {
		s.Busy = false
	}
	if state == s.Shell {
		return
	}
	if state == shellPrompt {
		s.ShellHeld = s.ShellHeld || s.Shell == shellCommand
	} else if name == "C" {
		s.ShellHeld = true // until the prompt after it
	}
	s.Shell, s.ShellSince = state, now
}

// isUnderWay reports whether a record ends with the program.
func isUnderWay(r record) bool { return r.State == Working || r.State == Blocked }

func (s *signals) drop(which func(record) bool) {
	s.Records = slices.DeleteFunc(s.Records, which)
}

// save returns the signals as JSON, for the process that resumes after a crash.
func (s *signals) save() ([]byte, error) { return json.Marshal(s) }

func (s *signals) load(b []byte) error {
	var in signals
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("saved status: %w", err)
	}
	*s = in
	return nil
}

// app is the program of a record, its own or that of the nearest record above.
func (s *signals) app(r record) string {
	for r.App == "" && r.ID != "" {
		above := record{ID: r.ID[:max(strings.LastIndexByte(r.ID, '/'), 0)]}
		if i := slices.IndexFunc(s.Records, func(o record) bool { return o.ID == above.ID }); i >= 0 {
			above = s.Records[i]
		}
		r = above
	}
	return r.App
}

// reported combines the records: any that is blocked, else the program's own,
// else the busiest of its parts.
func (s *signals) reported() (record, bool) {
	order := []string{Blocked, Working, Error, Done, Idle}
	var best record
	found := false
	for _, r := range s.Records {
		switch {
		case r.State == Blocked:
			return r, true
		case r.ID == "":
			best, found = r, true
		case !found || best.ID != "" && slices.Index(order, r.State) < slices.Index(order, best.State):
			best, found = r, true
		}
	}
	return best, found
}

// background returns the parts of the program that it reports as working beside itself.
func (s *signals) background() (list []Work) {
	itself := slices.ContainsFunc(s.Records, func(r record) bool { return r.ID == "" })
	for _, r := range s.Records {
		if itself && r.ID != "" && r.State == Working {
			list = append(list, Work{ID: r.ID, Text: cmp.Or(r.Title, r.Msg), Since: r.Since})
		}
	}
	return list
}
