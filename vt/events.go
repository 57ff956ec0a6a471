package vt

import "strings"

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events, and the fields each sets.
const (
	EventBell      EventKind = iota // BEL; Count of them
	EventTitle                      // OSC 0, 2: Text
	EventIcon                       // OSC 1: Text
	EventClipboard                  // OSC 52: Name is the selection, Data its new content
	EventProgress                   // OSC 9;4: State 0 none, 1 normal, 2 error, 3 indeterminate, 4 paused; Percent
	EventPrompt                     // OSC 133, 633: Name is A, B, C or D; Exit after D, -1 when unknown
	EventStatus                     // OSC 7501: Text, everything after the number
	EventNotify                     // OSC 9, 99, 777: Name is the title, Text the body
	EventWorkDir                    // OSC 7: Text, as sent
	EventPointer                    // OSC 22: Text, the shape's name
	EventReset                      // RIS
	EventMarker                     // OSC 75010: Text, the marker written by an attach client of ours (see Marker)
)

var eventNames = [...]string{
	"bell", "title", "icon", "clipboard", "progress", "prompt", "status",
	"notify", "workdir", "pointer", "reset", "mark",
}

// String names the kind.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return ""
}

// Event is something a program reported to the terminal besides its screen.
type Event struct {
	Kind    EventKind
	Name    string
	Text    string
	Data    []byte
	State   int
	Percent int
	Exit    int
	Count   int
}

// Limits on events not yet taken. Beyond them the oldest are dropped.
const (
	maxEvents     = 256
	maxEventBytes = 4 << 20
)

// TakeEvents returns the events since the last call, oldest first.
func (t *Terminal) TakeEvents() []Event {
	e := t.events
	t.events = nil
	return e
}

// event queues an event. Consecutive bells are one event with a count.
func (t *Terminal) event(e Event) {
	n := len(t.events)
	if e.Kind == EventBell {
		if n > 0 && t.events[n-1].Kind == EventBell {
			t.events[n-1].Count++
			return
		}
		e.Count = 1
	}
	size := e.size()
	if n >= maxEvents || size > maxEventBytes/maxEvents {
		for _, old := range t.events {
			size += old.size()
		}
	}
	if n >= maxEvents || size > maxEventBytes {
		drop := min(max(n/2, 1), n)
		t.lost.Events += uint64(drop)
		t.events = append([]Event(nil), t.events[drop:]...)
	}
	t.events = append(t.events, e)
}

// size is the memory an event holds, in bytes.
func (e *Event) size() int { return len(e.Data) + len(e.Text) + len(e.Name) }

// plainText removes control characters (C0, C1, DEL) and invalid UTF-8.
func plainText(s string) string {
	clean := true
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	b := make([]byte, 0, len(s))
	for p := []byte(s); len(p) > 0; {
		r, n := decode(p)
		if n == 0 {
			break
		}
		p = p[n:]
		if r >= 0x20 && (r < 0x7f || r >= 0xa0) {
			b = appendRune(b, r)
		}
	}
	return string(b)
}

// maxTitle bounds a title, in bytes.
const maxTitle = 1024

func (t *Terminal) setTitle(s string) {
	s = titleText(s)
	if s != t.title {
		t.changed = true
	}
	t.title = s
	if s != "" {
		t.lasted |= lastingTitle
	}
	t.event(Event{Kind: EventTitle, Text: s})
}

// titleText is a title without control characters, cut to maxTitle.
func titleText(s string) string {
	s = plainText(s)
	if len(s) <= maxTitle {
		return s
	}
	n := maxTitle
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return strings.Clone(s[:n])
}
