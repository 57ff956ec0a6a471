package pod

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/vt"
)

// MaxMessage is how many bytes of a termination message a kubelet keeps.
const MaxMessage = 4096

// Message is what gc pod-run says about its session in the container's termination
// message. Fields are only added.
type Message struct {
	Version int           `json:"gcPod"` // 1
	Session string        `json:"session"`
	ID      string        `json:"id,omitempty"`    // of the incarnation; "" if there was no session
	Time    time.Time     `json:"time"`            // when it was written
	Exit    *outcome.Exit `json:"exit,omitempty"`  // nil: the session was running then, or there was none
	Error   string        `json:"error,omitempty"` // why the pod ended without the end of its session

	OOMKills    int `json:"oomKills"`              // processes of the pod that were killed for lack of memory; -1 unknown
	Undelivered int `json:"undelivered,omitempty"` // messages that no city took; they are lost

	Cols   int      `json:"cols,omitempty"`
	Rows   int      `json:"rows,omitempty"`
	Cut    int      `json:"cut,omitempty"`    // lines of the screen above Lines, which did not fit
	Lines  []string `json:"lines,omitempty"`  // of the screen, plain text
	Cursor *Cursor  `json:"cursor,omitempty"` // nil: unknown
}

// Cursor is a place on the screen, from 0.
type Cursor struct {
	Col int `json:"col"`
	Row int `json:"row"` // counts the lines that were cut
}

const messageVersion = 1

// OOMKilled is the reason of an exit by lack of memory.
const OOMKilled = "OOMKilled"

// ErrForeign: a termination message is not of gc pod-run.
var ErrForeign = errors.New("not a termination message of gc pod-run")

// Parse reads a termination message, and ignores what follows it. ErrForeign if it is
// something else, such as the end of the container's log. The agent can write one, too: the
// exit status that the cluster reports is not the agent's to choose.
func Parse(text string) (*Message, error) {
	var m Message
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&m); err != nil || m.Version < 1 {
		return nil, ErrForeign
	}
	if len(text) > MaxMessage || m.Cut < 0 || m.Cursor != nil && (m.Cursor.Col < 0 || m.Cursor.Row < 0) {
		return nil, ErrForeign
	}
	m.clean()
	for i, line := range m.Lines {
		m.Lines[i] = plain(line)
	}
	return &m, nil
}

// clean bounds the texts but Lines, and makes them harmless.
func (m *Message) clean() {
	m.Session, m.ID, m.Error = short(m.Session, maxName), short(m.ID, maxName), short(m.Error, maxError)
	if m.Exit != nil {
		e := *m.Exit
		e.Signal, e.Reason = short(e.Signal, maxName), short(e.Reason, maxName)
		m.Exit = &e
	}
}

// Text is the lines, each with its end.
func (m *Message) Text() string {
	if len(m.Lines) == 0 {
		return ""
	}
	return strings.Join(m.Lines, "\n") + "\n"
}

// see fills in a screen, without blank lines below the text.
func (m *Message) see(s *vt.Screen) {
	m.Cols, m.Rows, m.Cut, m.Lines = s.Cols, s.Rows, 0, nil
	m.Cursor = &Cursor{Col: s.Cursor.Col, Row: s.Cursor.Row}
	for _, l := range s.Lines {
		var line strings.Builder
		for _, r := range l.Runs {
			line.WriteString(r.Text)
		}
		m.Lines = append(m.Lines, strings.TrimRight(plain(line.String()), " "))
	}
	for n := len(m.Lines); n > 0 && m.Lines[n-1] == ""; n-- {
		m.Lines = m.Lines[:n-1]
	}
}

// encode returns the message in at most MaxMessage bytes: it leaves out the oldest lines.
func (m Message) encode() []byte {
	m.Version = messageVersion
	m.clean()
	lines := m.Lines
	m.Lines = nil
	size := len(marshal(m)) + len(`,"lines":[],"cut":65535`)
	first := len(lines)
	for first > 0 {
		n := len(marshal(lines[first-1])) + len(",")
		if size+n > MaxMessage {
			break
		}
		size += n
		first--
	}
	if first == len(lines) && first > 0 { // not even one fits
		first--
		lines = []string{short(lines[first], (MaxMessage-size)/longestEscape)}
		m.Cut, m.Lines = m.Cut+first, lines
		return marshal(m)
	}
	m.Cut, m.Lines = m.Cut+first, lines[first:]
	return marshal(m)
}

// Bounds of texts in a message, in bytes, and of a byte in JSON.
const (
	maxName       = 256
	maxError      = 1024
	longestEscape = 2
)

// marshal returns JSON on one line.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings and numbers
	return bytes.TrimRight(b.Bytes(), "\n")
}

// short cuts s to at most n bytes.
func short(s string, n int) string {
	s = plain(s)
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// plain returns s as valid UTF-8 without characters that a terminal obeys.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.In(r, unicode.Bidi_Control), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// save writes the message to a file that exists, as a kubelet makes it, or makes it. A
// reader sees this message or the one before: it is one write of at most a page.
func (m Message) save(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if errors.Is(err, fs.ErrPermission) { // the file may be there, in a directory that is not ours
		f, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	if err != nil {
		return err
	}
	data := m.encode()
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	return errors.Join(err, f.Close())
}
