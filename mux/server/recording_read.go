package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// tapeReader reads a recording, the older half first.
type tapeReader struct {
	io.Reader
	files []*os.File
}

func (r *tapeReader) Close() {
	for _, f := range r.files {
		f.Close()
	}
}

// eachShown is eachFrame without pictures of what was shown before; what is
// left of them is output.
func eachShown(r io.Reader, fn func(recFrame) error) error {
	seen := false
	return eachFrame(r, func(f recFrame) error {
		if f.kind == frameScreen && seen {
			return nil
		}
		seen = seen || f.kind != frameResize
		return fn(f)
	})
}

// shows reports whether a frame has bytes for the screen.
func (f *recFrame) shows() bool {
	return f.kind == frameOutput || f.kind == frameScreen || f.kind == frameGap
}

// asciicast writes asciicast v2 (docs.asciinema.org/manual/asciicast/v2): a
// header, then [seconds, "o", text] and [seconds, "r", "COLSxROWS"]. A character
// that is split between frames goes with the second. The size is that of a session
// whose recording does not begin with one.
func asciicast(w io.Writer, r io.Reader, title string, size api.Size) error {
	var begin time.Time
	var rest []byte
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	event := func(at time.Time, kind, text string) error {
		return enc.Encode([]any{float64(at.Sub(begin).Microseconds()) / 1e6, kind, text})
	}
	return eachShown(r, func(f recFrame) error {
		cols, rows, sized := f.size()
		switch {
		case begin.IsZero():
			begin = f.at
			if !sized {
				cols, rows = size.Cols, size.Rows
			}
			head := map[string]any{
				"version": 2, "width": cols, "height": rows, "timestamp": begin.Unix(), "title": title,
				"env": map[string]string{"TERM": "xterm-256color"},
			}
			if err := enc.Encode(head); err != nil || sized {
				return err
			}
		case sized:
			return event(f.at, "r", fmt.Sprintf("%dx%d", cols, rows))
		}
		if !f.shows() {
			return nil
		}
		rest = append(rest, f.data...)
		n := wholeRunes(rest)
		text := strings.ToValidUTF8(string(rest[:n]), "\uFFFD")
		rest = append(rest[:0], rest[n:]...)
		if text == "" {
			return nil
		}
		return event(f.at, "o", text)
	})
}

// wholeRunes is the length of p without a character that is not complete.
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

// errLater ends the reading of a recording.
var errLater = errors.New("later than what was asked for")

// pastScreen makes a screen of a recording.
type pastScreen struct {
	r       api.PeekRequest
	t       *vt.Terminal
	begin   time.Time
	shown   bool
	dropped bool // the moment is before what is kept
}

// frame takes the next frame; errLater behind the moment.
func (p *pastScreen) frame(f recFrame) error {
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
	if p.r.AtOutput != nil && f.kind == frameOutput {
		data = data[:min(uint64(len(data)), *p.r.AtOutput-f.offset)]
	}
	_, _ = p.t.Write(data)
	p.t.TakeReplies()
	p.t.TakeEvents()
	return nil
}

// later reports whether a frame is behind the moment that was asked for.
func (p *pastScreen) later(f recFrame) bool {
	r := p.r
	switch {
	case !r.At.IsZero() && f.at.After(r.At):
		return true
	case r.Elapsed != nil && f.at.Sub(p.begin) > *r.Elapsed:
		return true
	case r.AtOutput == nil || !f.shows():
		return false
	case f.kind == frameOutput:
		return f.offset >= *r.AtOutput
	}
	return f.offset > *r.AtOutput
}
