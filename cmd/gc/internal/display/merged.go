package display

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clipperhouse/displaywidth"
)

// Merged writes the lines of several sources, each after the name of its source.
// It is safe for concurrent use.
type Merged struct {
	JSON bool // write one JSON object per line instead

	colour bool

	mu    sync.Mutex
	w     io.Writer
	names []string // the first ten have colours of their own
	width int      // of the widest name
}

// outputLine is a line of an agent's output as JSON.
type outputLine struct {
	Time  time.Time `json:"time"`
	Kind  string    `json:"kind"` // "output"
	Agent string    `json:"agent"`
	Text  string    `json:"text"`
}

// NewMerged aligns the lines of the given names.
func NewMerged(w io.Writer, colour bool, names ...string) *Merged {
	m := &Merged{w: w, colour: colour}
	for _, n := range names {
		m.add(n)
	}
	return m
}

// NewMergedJSON writes JSON objects only.
func NewMergedJSON(w io.Writer) *Merged { return &Merged{w: w, JSON: true} }

// add returns the index of the name, adding it if it is new.
func (m *Merged) add(name string) int {
	i := slices.Index(m.names, name)
	if i < 0 {
		i = len(m.names)
		m.names = append(m.names, name)
		m.width = max(m.width, displaywidth.String(Line(name)))
	}
	return i
}

// Output writes a line that a program printed.
func (m *Merged) Output(name, text string) error {
	if m.JSON {
		return m.Object(outputLine{time.Now().UTC(), "output", name, text})
	}
	return m.write(name, "|", text, Plain)
}

// Note writes a line about a source.
func (m *Merged) Note(name, text string, c Colour) error { return m.write(name, "*", text, c) }

func (m *Merged) write(name, mark, text string, c Colour) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := nameColours[m.add(name)%len(nameColours)]
	name, text = Line(name), Line(text)
	head := name + strings.Repeat(" ", m.width-displaywidth.String(name)) + " " + mark
	if m.colour {
		head, text = of.Paint(head), c.Paint(text)
	}
	_, err := io.WriteString(m.w, strings.TrimRight(head+" "+text, " ")+"\n")
	return err
}

// Object writes one JSON object on a line.
func (m *Merged) Object(v any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := json.NewEncoder(m.w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
