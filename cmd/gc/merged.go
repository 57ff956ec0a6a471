package main

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clipperhouse/displaywidth"
)

// merged writes the lines of several sources, each behind the name of its source.
// It may be used by several goroutines.
type merged struct {
	colour bool
	json   bool // one object a line instead

	mu    sync.Mutex
	w     io.Writer
	names []string // each has a colour of its own, as long as there are some
	width int      // of the widest name
}

// outputLine is a line of an agent's output as JSON.
type outputLine struct {
	Time  time.Time `json:"time"`
	Kind  string    `json:"kind"` // "output"
	Agent string    `json:"agent"`
	Text  string    `json:"text"`
}

// newMerged knows the names that will come, so that all lines begin alike.
func newMerged(w io.Writer, colour bool, names ...string) *merged {
	m := &merged{w: w, colour: colour}
	for _, n := range names {
		m.add(n)
	}
	return m
}

// newMergedJSON writes JSON objects only.
func newMergedJSON(w io.Writer) *merged { return &merged{w: w, json: true} }

// add returns the number of the name.
func (m *merged) add(name string) int {
	i := slices.Index(m.names, name)
	if i < 0 {
		i = len(m.names)
		m.names = append(m.names, name)
		m.width = max(m.width, displaywidth.String(cleanLine(name)))
	}
	return i
}

// output writes a line that a program printed.
func (m *merged) output(name, text string) error {
	if m.json {
		return m.object(outputLine{time.Now().UTC(), "output", name, text})
	}
	return m.write(name, "|", text, plain)
}

// note writes a line about a source.
func (m *merged) note(name, text string, c colour) error { return m.write(name, "*", text, c) }

func (m *merged) write(name, mark, text string, c colour) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := nameColours[m.add(name)%len(nameColours)]
	name, text = cleanLine(name), cleanLine(text)
	head := name + strings.Repeat(" ", m.width-displaywidth.String(name)) + " " + mark
	if m.colour {
		head, text = of.paint(head), c.paint(text)
	}
	_, err := io.WriteString(m.w, strings.TrimRight(head+" "+text, " ")+"\n")
	return err
}

// object writes one JSON object on a line.
func (m *merged) object(v any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := json.NewEncoder(m.w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
