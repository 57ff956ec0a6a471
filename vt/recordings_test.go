package vt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// The recordings are the output of real programs (testdata/record.sh), with
// what tmux shows for the same bytes (testdata/golden.sh). Each is replayed and
// compared row by row: text and rendition, cursor and history. Rows that differ
// are listed in testdata/recordings/differences.txt with a reason from
// differenceReasons, explained in docs/vt-differences.md. An unlisted
// difference fails, and so does a listed one that is gone.
//
// A line of that file is: recording, row (from 0, or "history", "cursor"),
// reason.

// differenceReasons are the reasons why a recording may look different from
// tmux, and who is right. docs/vt-differences.md explains them.
var differenceReasons = map[string]string{
	"links":            "tmux 3.3a does not support links (OSC 8); ours is right",
	"cleared-screen":   "tmux puts a screen into the history when ED 2 clears it; xterm and DEC terminals erase it, and so do we",
	"region-history":   "tmux keeps what a region in the middle of the screen scrolls off; xterm does not; ours is right",
	"erase-at-wrap":    "EL under a pending wrap erases the last column (DEC STD 070, xterm); tmux ignores it",
	"cluster-limit":    "tmux 3.3a stores 21 bytes of a cluster and loses the rest; ours is complete",
	"unicode-version":  "tmux 3.3a does not know the characters of Unicode 15 and drops them; ours prints them",
	"format-character": "ZWSP and WORD JOINER are invisible: we drop them, tmux keeps them in the previous cell",
}

const differencesFile = "testdata/recordings/differences.txt"

// screenshot is a screen as text with renditions, from us or from tmux.
type screenshot struct {
	rows    [][]styled
	history [][]styled
	cursor  string // row,col
	alt     bool
}

func TestRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/recordings/*.raw")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	explained := readDifferences(t, differencesFile)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".raw")
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			base := strings.TrimSuffix(file, ".raw")
			checkDifferences(t, name, shootOurs(t, raw, 80, 24), readGolden(t, base, 24), explained[name])
		})
		delete(explained, name)
	}
	for name := range explained {
		t.Errorf("%s: differences of a recording that is not there: %s", differencesFile, name)
	}
}

// TestRecordingsSplit replays every recording in odd pieces.
func TestRecordingsSplit(t *testing.T) {
	files, err := filepath.Glob("testdata/recordings/*.raw")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole, split := mustNew(t, vt.Options{}), mustNew(t, vt.Options{})
		whole.Write(raw)
		for i, n := 0, 0; i < len(raw); i += n {
			n = min(1+i%7, len(raw)-i)
			split.Write(raw[i : i+n])
		}
		if d := diffStates(stateOf(whole), stateOf(split)); d != "" {
			t.Errorf("%s: %s", file, d)
		}
		checkCopies(t, file, whole)
	}
}

// checkDifferences compares two screenshots, given the rows that may differ.
func checkDifferences(t *testing.T, name string, ours, theirs screenshot, explained map[string]string) {
	t.Helper()
	found := findDifferences(ours, theirs)
	for _, where := range sortedKeys(found) {
		if _, ok := explained[where]; !ok {
			t.Errorf("%s %s: %s", name, where, found[where])
		}
	}
	for where, reason := range explained {
		if _, ok := found[where]; !ok {
			t.Errorf("%s %s is explained (%s) and does not differ", name, where, reason)
		}
	}
}

// findDifferences returns where two screenshots differ, and how.
func findDifferences(ours, theirs screenshot) map[string]string {
	found := map[string]string{}
	for y := range max(len(ours.rows), len(theirs.rows)) {
		if d := diffRow(rowAt(ours.rows, y), rowAt(theirs.rows, y)); d != "" {
			found[fmt.Sprint(y)] = d
		}
	}
	if ours.cursor != theirs.cursor {
		found["cursor"] = fmt.Sprintf("ours %s, tmux %s", ours.cursor, theirs.cursor)
	}
	if ours.alt != theirs.alt {
		found["alternate"] = fmt.Sprintf("ours %v, tmux %v", ours.alt, theirs.alt)
	}
	if d := diffHistory(ours.history, theirs.history); d != "" {
		found["history"] = d
	}
	return found
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func rowAt(rows [][]styled, y int) []styled {
	if y < len(rows) {
		return rows[y]
	}
	return nil
}

// diffRow is "" for rows that look the same.
func diffRow(ours, theirs []styled) string {
	ours, theirs = cutErased(cutBlanks(ours), cutBlanks(theirs)), cutBlanks(theirs)
	if a, b := plain(ours), plain(theirs); a != b {
		return fmt.Sprintf("\n ours %q\n tmux %q", a, b)
	}
	for i := range ours {
		if a, b := visibleRendition(ours[i]), visibleRendition(theirs[i]); a != b {
			return fmt.Sprintf("%q at character %d (%q): ours %s, tmux %s", plain(ours), i, ours[i].text, a, b)
		}
	}
	return ""
}

// visibleRendition is the visible part of the rendition: boldness or colour of a blank
// cannot be seen.
func visibleRendition(s styled) string {
	if s.text != ' ' {
		return s.attr
	}
	var words []string
	for _, w := range strings.Fields(s.attr) {
		if w == "bold" || w == "faint" || w == "italic" || w == "blink" || w == "conceal" || strings.HasPrefix(w, "fg=") && !strings.Contains(s.attr, "inverse") {
			continue
		}
		words = append(words, w)
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, " ")
}

// cutBlanks trims trailing blanks in the default rendition.
func cutBlanks(row []styled) []styled {
	for len(row) > 0 && row[len(row)-1].text == ' ' && visibleRendition(row[len(row)-1]) == "-" {
		row = row[:len(row)-1]
	}
	return row
}

// cutErased removes from ours what capture-pane never writes: trailing blanks
// that were erased in a background colour and not written
// (docs/vt-differences.md, "erased background").
func cutErased(ours, theirs []styled) []styled {
	for _, s := range ours[min(len(theirs), len(ours)):] {
		if s.text != ' ' || strings.Contains(visibleRendition(s), " ") || !strings.HasPrefix(visibleRendition(s), "bg=") {
			return ours
		}
	}
	return ours[:min(len(theirs), len(ours))]
}

func plain(row []styled) string {
	var b strings.Builder
	for _, s := range row {
		b.WriteRune(s.text)
	}
	return b.String()
}

func diffHistory(ours, theirs [][]styled) string {
	if len(ours) != len(theirs) {
		return fmt.Sprintf("ours %d lines, tmux %d", len(ours), len(theirs))
	}
	for i := range ours {
		if d := diffRow(ours[i], theirs[i]); d != "" {
			return fmt.Sprintf("line %d: %s", i, d)
		}
	}
	return ""
}

// shootOurs replays bytes in this engine.
func shootOurs(t testing.TB, raw []byte, cols, rows int) screenshot {
	t.Helper()
	term := mustNew(t, vt.Options{Cols: cols, Rows: rows})
	term.Write(raw)
	return shoot(term)
}

func shoot(term *vt.Terminal) screenshot {
	s := screenshot{alt: term.Modes().AltScreen}
	for _, line := range term.Screen().Lines {
		s.rows = append(s.rows, styledRow(line))
	}
	text := strings.Split(term.Text(vt.TextOptions{}), "\n")
	for i := range term.HistoryLen() {
		if !s.alt && i < len(text) {
			s.history = append(s.history, plainRow(text[i]))
		}
	}
	c := term.Cursor()
	s.cursor = fmt.Sprintf("%d,%d", c.Row, c.Col)
	if c.PendingWrap { // as tmux counts
		s.cursor = fmt.Sprintf("%d,%d", c.Row, c.Col+1)
	}
	return s
}

func plainRow(text string) (row []styled) {
	for _, r := range text {
		row = append(row, styled{r, "-"})
	}
	return row
}

func styledRow(line vt.Line) (row []styled) {
	for _, run := range line.Runs {
		attr := styleString(run)
		for _, r := range run.Text {
			row = append(row, styled{r, attr})
		}
	}
	return row
}

// readGolden reads the output of golden.sh for base.
func readGolden(t testing.TB, base string, rows int) screenshot {
	t.Helper()
	ansi, err := os.ReadFile(base + ".ansi")
	if err != nil {
		t.Fatal(err)
	}
	state, err := os.ReadFile(base + ".state")
	if err != nil {
		t.Fatal(err)
	}
	return parseGolden(t, string(ansi), string(state), rows)
}

func parseGolden(t testing.TB, ansi, stateLines string, rows int) screenshot {
	t.Helper()
	var s screenshot
	history := 0
	for line := range strings.Lines(stateLines) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "cursor":
			s.cursor = value
		case "alternate":
			s.alt = value == "1"
		case "history":
			if _, err := fmt.Sscan(value, &history); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := parseCapture(t, ansi)
	if history > len(all) {
		t.Fatalf("%d rows of history in %d rows", history, len(all))
	}
	s.history, s.rows = all[:history], all[history:]
	for i := range s.history { // the history of this engine is compared as text
		s.history[i] = plainRow(plain(s.history[i]))
	}
	if s.alt {
		s.history = nil
	}
	if len(s.rows) > rows {
		t.Fatalf("%d rows on a screen of %d", len(s.rows), rows)
	}
	return s
}

// readDifferences reads lines of "recording where reason".
func readDifferences(t testing.TB, file string) map[string]map[string]string {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for i, line := range strings.Split(string(src), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 3 || differenceReasons[words[2]] == "" {
			t.Fatalf("%s:%d: want recording, where, and a known reason: %q", file, i+1, line)
		}
		if all[words[0]] == nil {
			all[words[0]] = map[string]string{}
		}
		all[words[0]][words[1]] = words[2]
	}
	return all
}
