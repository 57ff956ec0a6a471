//go:build suites

package suites

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// TestXtermJS writes each of xterm.js's escape_sequence_files as a program on a tty
// does, LF as CR LF, and compares the rows with what xterm showed.
func TestXtermJS(t *testing.T) {
	dir := filepath.Join(fetched(t, "xtermjs"), "fixtures", "escape_sequence_files")
	files, err := filepath.Glob(filepath.Join(dir, "*.in"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	r := &results{suite: "xterm.js"}
	for _, f := range files {
		in, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(strings.TrimSuffix(f, ".in") + ".text")
		if err != nil {
			t.Fatal(err)
		}
		term := newTerm(t, vt.Options{Cols: 80, Rows: 25})
		term.Write(bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n")))
		got, want := strings.TrimRight(strings.Join(rowsOf(term), "\n"), "\n"), trimmed(string(text))
		diff := ""
		if got != want {
			diff = "rows:\n" + got + "\nwant:\n" + want
		}
		r.check(strings.TrimSuffix(filepath.Base(f), ".in"), diff)
	}
	r.judge(t)
}

// trimmed removes blanks at the end of each row, and blank rows at the end.
func trimmed(s string) string {
	rows := strings.Split(s, "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// rowsOf are the rows of the screen, without blanks at the end of each.
func rowsOf(term *vt.Terminal) []string {
	_, n := term.Size()
	rows := make([]string, n)
	for y := range rows {
		rows[y] = strings.TrimRight(term.Line(y), " ")
	}
	return rows
}
