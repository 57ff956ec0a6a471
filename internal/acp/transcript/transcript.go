// Package transcript keeps the messages of an ACP agent: numbered JSON lines in
// two files that take turns.
//
// It owns the files "transcript.jsonl" (the newest entries) and "transcript.1.jsonl"
// (those before) of one directory. The agent's host writes them, and only one at a
// time; gc logs reads them at any moment. An entry is one write, so a reader sees
// whole lines, except the last one of a host that was killed, which Read skips.
package transcript

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gascity.dev/gc/internal/clock"
)

const (
	current  = "transcript.jsonl"
	previous = "transcript.1.jsonl"
)

// maxFile is the size in bytes at which the files take turns.
var maxFile int64 = 8 << 20 // smaller in tests

// Kinds of entries besides those of conversation items (prompt, message, thought,
// tool, plan, notice).
const (
	Question = "question" // Text is the title; Options
	Answer   = "answer"   // Text is the option's label; By is a person or the policy's rule
	Turn     = "turn"     // the end of a turn: StopReason or Error
	Started  = "started"  // the agent is ready: Text is its name, ID its session
)

// Entry is one line. Texts hold no control characters except newline and tab.
type Entry struct {
	N          int64        `json:"n"`
	Time       time.Time    `json:"t"`
	Kind       string       `json:"kind"`
	ID         string       `json:"id,omitempty"`
	By         string       `json:"by,omitempty"`
	Text       string       `json:"text,omitempty"`
	Tool       string       `json:"tool,omitempty"`   // its kind
	Status     string       `json:"status,omitempty"` // of a tool call
	Output     string       `json:"output,omitempty"`
	Paths      []string     `json:"paths,omitempty"`
	Options    []string     `json:"options,omitempty"`
	StopReason string       `json:"stop_reason,omitempty"`
	Error      string       `json:"error,omitempty"`
	Duration   clock.Millis `json:"duration_ms,omitzero"`
}

// Writer appends entries. It is for one goroutine.
type Writer struct {
	files *files
	n     int64
}

// NewWriter opens the transcript of the directory, which it makes, with mode 0700. The
// numbers continue those of the entries that are there.
func NewWriter(dir string) (*Writer, error) {
	f, err := openFiles(dir, current, previous)
	if err != nil {
		return nil, err
	}
	w := &Writer{files: f}
	if err := Read(dir, 0, func(e Entry) error { w.n = e.N; return nil }); err != nil {
		f.close()
		return nil, err
	}
	return w, nil
}

// Add appends an entry with the next number.
func (w *Writer) Add(e Entry) error {
	e.N = w.n + 1
	b, err := json.Marshal(e)
	if err == nil {
		err = w.files.add(b)
	}
	if err == nil {
		w.n = e.N
	}
	return err
}

// Close closes the file.
func (w *Writer) Close() error { return w.files.close() }

// Read calls f with the entries of the directory whose number is greater than after,
// in order. It skips lines that are not entries. A directory without a transcript has
// no entries.
func Read(dir string, after int64, f func(Entry) error) error {
	for _, name := range []string{previous, current} {
		if err := readFile(filepath.Join(dir, name), &after, f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readFile reads one file and moves after forward, so that an entry that changes its
// file meanwhile is not read twice.
func readFile(path string, after *int64, f func(Entry) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReader(file)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var e Entry
		if json.Unmarshal(line, &e) != nil || e.N <= *after {
			continue
		}
		*after = e.N
		if err := f(e); err != nil {
			return err
		}
	}
}
