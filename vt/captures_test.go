package vt_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// The captures are the output of real agents at 120x40, first screens and
// turns, with what tmux 3.3a showed just before each key was typed.
// testdata/captures/README.md describes the format. They are replayed like the
// recordings, and differences are listed in the same way.

const capturesDifferences = "testdata/captures/differences.txt"

// mark is a point in a capture: bytes written so far, what tmux showed, and the
// key typed before.
type mark struct {
	at        int
	shot, key string
}

func TestCaptures(t *testing.T) {
	files, err := filepath.Glob("testdata/captures/*.marks")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d captures: %v", len(files), err)
	}
	explained := readDifferences(t, capturesDifferences)
	for _, file := range files {
		base := strings.TrimSuffix(file, ".marks")
		t.Run(filepath.Base(base), func(t *testing.T) {
			raw, err := os.ReadFile(base + ".raw")
			if err != nil {
				t.Fatal(err)
			}
			term := mustNew(t, vt.Options{Cols: 120, Rows: 40})
			at := 0
			for _, m := range readMarks(t, file) {
				for ; at < m.at; at++ { // one byte per write, the worst case
					term.Write(raw[at : at+1])
				}
				ours := shoot(term)
				ours.history = nil // the captures have the screen only
				theirs := readGolden(t, filepath.Join("testdata/captures", m.shot), 40)
				theirs.history = nil
				checkDifferences(t, m.shot, ours, theirs, explained[m.shot])
				checkCopies(t, m.shot, term)
			}
		})
	}
}

// checkCopies compares a dump, a snapshot and a repaint with the terminal.
func checkCopies(t *testing.T, name string, term *vt.Terminal) {
	t.Helper()
	if d := checkDump(term, vt.Options{}, nil); d != "" {
		t.Errorf("%s: %s", name, d)
	}
	if d := checkSnapshot(term, vt.Options{}, nil); d != "" {
		t.Errorf("%s: %s", name, d)
	}
	cols, rows := term.Size()
	host := mustNew(t, vt.Options{Cols: cols, Rows: rows})
	host.Write(term.AppendPaint(nil, vt.PaintOptions{}))
	if d := diffVisible(term, host); d != "" {
		t.Errorf("%s painted: %s", name, d)
	}
}

func readMarks(t *testing.T, file string) (marks []mark) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(src)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] == "#" {
			continue
		}
		at, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, mark{at, words[1], words[2]})
	}
	if len(marks) < 2 {
		t.Fatalf("%s: %d marks", file, len(marks))
	}
	return marks
}

// TestCapturesAsked: each query of these programs is answered once, and the
// filter for attached clients removes exactly those.
func TestCapturesAsked(t *testing.T) {
	for name, asked := range map[string][]string{
		"pi":       {"\x1b[?u"},
		"gemini":   {"\x1b[?u", "\x1b]11;?", "\x1b[>q", "\x1b[c"},
		"cline":    {"\x1b]10;?", "\x1b]11;?", "\x1b[>0q", "\x1b[6n", "\x1bP+q", "\x1b[?1016$p", "\x1b[?2026$p"},
		"opencode": {"\x1b]10;?", "\x1b]11;?", "\x1b[>0q", "\x1b[6n", "\x1bP+q", "\x1b[?1016$p", "\x1b[?2026$p"},
	} {
		raw, err := os.ReadFile("testdata/captures/" + name + ".raw")
		if err != nil {
			t.Fatal(err)
		}
		var f vt.HostFilter
		through := f.Filter(nil, raw)
		for _, q := range asked {
			if !bytes.Contains(raw, []byte(q)) {
				t.Errorf("%s never asks %q", name, q)
			}
			if bytes.Contains(through, []byte(q)) {
				t.Errorf("%s: the query %q passes the filter", name, q)
			}
		}
		term := mustNew(t, vt.Options{Cols: 120, Rows: 40})
		term.Write(raw)
		if replies := term.TakeReplies(); len(replies) < 4*len(asked) {
			t.Errorf("%s asks %q and hears %q", name, asked, replies)
		}
		passed := mustNew(t, vt.Options{Cols: 120, Rows: 40})
		passed.Write(through)
		if d := diffVisible(term, passed); d != "" {
			t.Errorf("%s: what the filter lets through shows another screen: %s", name, d)
		}
	}
}
