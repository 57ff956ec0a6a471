package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/vt"
)

// RecordingReader reads a recording, the older file first.
type RecordingReader struct {
	r     io.Reader
	files []*os.File
}

// ReadRecording opens the recording at path; fs.ErrNotExist if there is none. The writer
// must not rotate meanwhile, but may write.
func ReadRecording(path string) (*RecordingReader, error) {
	r := &RecordingReader{}
	var readers []io.Reader
	var err error
	for _, p := range RecordingFiles(path) {
		var f *os.File
		if f, err = os.Open(p); err != nil {
			continue
		}
		r.files = append(r.files, f)
		readers = append(readers, bufio.NewReader(f))
	}
	if len(readers) == 0 {
		return nil, err
	}
	r.r = io.MultiReader(readers...)
	return r, nil
}

// Close closes the files.
func (r *RecordingReader) Close() {
	for _, f := range r.files {
		f.Close()
	}
}

// Raw writes the output.
func (r *RecordingReader) Raw(w io.Writer) error {
	return whole(eachFrame(r.r, func(f recFrame) error {
		if f.kind != frameOutput {
			return nil
		}
		_, err := w.Write(f.data)
		return err
	}))
}

// whole ignores a last frame that is cut short.
func whole(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// eachShown is eachFrame without the pictures of what was shown before; all that is
// left is output.
func (r *RecordingReader) eachShown(fn func(recFrame) error) error {
	seen := false
	return whole(eachFrame(r.r, func(f recFrame) error {
		if f.kind == frameScreen && seen {
			return nil
		}
		seen = seen || f.kind != frameResize
		return fn(f)
	}))
}

// shows reports whether a frame has bytes for the screen.
func (f *recFrame) shows() bool {
	return f.kind == frameOutput || f.kind == frameScreen || f.kind == frameGap
}

// ASCIICast writes asciicast v2 (docs.asciinema.org/manual/asciicast/v2): a header, then
// [seconds, "o", text] and [seconds, "r", "COLSxROWS"]. A character that is split between
// two frames goes with the second. The size is for a recording that does not begin with
// one.
func (r *RecordingReader) ASCIICast(w io.Writer, title string, cols, rows int) error {
	c := cast{enc: json.NewEncoder(w), title: title, cols: cols, rows: rows}
	c.enc.SetEscapeHTML(false)
	return r.eachShown(c.frame)
}

// cast writes an asciicast.
type cast struct {
	enc        *json.Encoder
	title      string
	cols, rows int // without a first resize
	begin      time.Time
	part       []byte // beginning of a character
}

func (c *cast) frame(f recFrame) error {
	cols, rows, sized := f.size()
	switch {
	case c.begin.IsZero():
		c.begin = f.at
		if !sized {
			cols, rows = c.cols, c.rows
		}
		head := map[string]any{
			"version": 2, "width": cols, "height": rows, "timestamp": f.at.Unix(), "title": c.title,
			"env": map[string]string{"TERM": "xterm-256color"},
		}
		if err := c.enc.Encode(head); err != nil || sized {
			return err
		}
	case sized:
		return c.event(f.at, "r", fmt.Sprintf("%dx%d", cols, rows))
	}
	if !f.shows() {
		return nil
	}
	c.part = append(c.part, f.data...)
	n := wholeRunes(c.part)
	text := strings.ToValidUTF8(string(c.part[:n]), "\uFFFD")
	c.part = append(c.part[:0], c.part[n:]...)
	if text == "" {
		return nil
	}
	return c.event(f.at, "o", text)
}

func (c *cast) event(at time.Time, kind, text string) error {
	return c.enc.Encode([]any{float64(at.Sub(c.begin).Microseconds()) / 1e6, kind, text})
}

// wholeRunes returns the length of p without an incomplete last character.
func wholeRunes(p []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}

// Moment is a point of a recording: a time, a duration since its beginning, or an
// offset in the output. Unset fields do not limit.
type Moment struct {
	At      time.Time
	Elapsed *time.Duration
	Output  *uint64
}

// TooEarlyError is returned for a moment before the part that is kept.
type TooEarlyError struct{ Begin time.Time }

func (e *TooEarlyError) Error() string {
	return fmt.Sprintf("the recording begins at %s, earlier output is not kept", e.Begin.Format(time.RFC3339))
}

// Play feeds t, a fresh terminal, up to the moment m. It returns a *TooEarlyError if that
// is before what is kept.
func (r *RecordingReader) Play(t *vt.Terminal, m Moment) error {
	p := player{m: m, t: t}
	if err := r.eachShown(p.frame); err != nil && !errors.Is(err, errLater) {
		return err
	}
	if p.dropped {
		return &TooEarlyError{Begin: p.begin}
	}
	return nil
}

// errLater ends the reading of a recording.
var errLater = errors.New("later than the moment")

// player makes a screen of a recording.
type player struct {
	m       Moment
	t       *vt.Terminal
	begin   time.Time
	shown   bool
	dropped bool // the moment is before the part that is kept
}

// frame takes the next frame; errLater after the moment.
func (p *player) frame(f recFrame) error {
	if p.begin.IsZero() {
		p.begin = f.at
	}
	if p.later(f) {
		p.dropped = !p.shown && f.kind == frameScreen
		return errLater
	}
	if cols, rows, ok := f.size(); ok {
		return p.t.Resize(cols, rows)
	}
	if !f.shows() {
		return nil
	}
	p.shown = true
	data := f.data
	if p.m.Output != nil && f.kind == frameOutput {
		data = data[:min(uint64(len(data)), *p.m.Output-f.offset)]
	}
	_, _ = p.t.Write(data)
	p.t.TakeReplies()
	p.t.TakeEvents()
	return nil
}

// later reports whether a frame is after the moment.
func (p *player) later(f recFrame) bool {
	m := p.m
	switch {
	case !m.At.IsZero() && f.at.After(m.At):
		return true
	case m.Elapsed != nil && f.at.Sub(p.begin) > *m.Elapsed:
		return true
	case m.Output == nil || !f.shows():
		return false
	case f.kind == frameOutput:
		return f.offset >= *m.Output
	}
	return f.offset > *m.Output
}
