package pod

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/vt"
)

func screen(lines ...string) *vt.Screen {
	s := &vt.Screen{Cols: 80, Rows: len(lines) + 2, Lines: make([]vt.Line, len(lines)+2)}
	for i, text := range lines {
		s.Lines[i] = vt.Line{Runs: []vt.Run{{Text: text}}}
	}
	s.Cursor.Col, s.Cursor.Row = 1, len(lines)
	return s
}

func TestMessage(t *testing.T) {
	m := Message{Session: "coder", ID: "i1", Exit: &outcome.Exit{Code: 7, Reason: outcome.Exited, Time: time.Unix(1, 0).UTC()}, OOMKills: 2}
	m.see(screen("$ make\x1b[31m", "", "\xff done  "))
	got, err := Parse(string(m.encode()))
	if err != nil {
		t.Fatal(err)
	}
	if got.Session != "coder" || got.ID != "i1" || *got.Exit != *m.Exit || got.OOMKills != 2 || got.Cut != 0 {
		t.Errorf("%+v", got)
	}
	if want := "$ make[31m\n\n\ufffd done\n"; got.Text() != want {
		t.Errorf("lines %q, want %q", got.Text(), want)
	}
	if got.Cols != 80 || got.Rows != 5 || *got.Cursor != (Cursor{1, 3}) {
		t.Errorf("%d×%d, cursor %+v", got.Cols, got.Rows, got.Cursor)
	}
}

// TestOldestLinesAreCut: the message fits, is valid, and has the newest lines.
func TestOldestLinesAreCut(t *testing.T) {
	for name, line := range map[string]string{
		"text":      strings.Repeat("x", 70),
		"quotes":    strings.Repeat(`"\`, 40),
		"wide":      strings.Repeat("漢", 60),
		"HTML":      strings.Repeat("<&>", 30),
		"one":       strings.Repeat("y", 9000),
		"one, wide": strings.Repeat("漢", 9000),
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for i := range 200 {
				lines = append(lines, strconv.Itoa(i)+" "+line)
			}
			m := Message{Session: strings.Repeat("s", 200), Error: strings.Repeat("e", 5000), Lines: lines}
			data := m.encode()
			if len(data) > MaxMessage || !utf8.Valid(data) {
				t.Fatalf("%d bytes", len(data))
			}
			got, err := Parse(string(data))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Lines) == 0 || got.Cut+len(got.Lines) != 200 {
				t.Fatalf("%d lines are cut, %d left", got.Cut, len(got.Lines))
			}
			if strings.HasPrefix(name, "one") {
				if last := got.Lines[len(got.Lines)-1]; len(last) < 900 || !strings.HasPrefix(lines[199], last) {
					t.Errorf("the last line is %.20q…, of %d bytes", last, len(last))
				}
			} else if !slices.Equal(got.Lines, lines[got.Cut:]) {
				t.Errorf("other lines: %q", got.Lines)
			}
		})
	}
}

func TestForeignMessages(t *testing.T) {
	for _, text := range []string{"", "exit 1\n", "{}", `{"gcPod":0}`, `{"gcPod":"1"}`, "[1]", `{"gcPod":1,"cut":-1}`, `{"gcPod":1,"session":"` + strings.Repeat("x", MaxMessage) + `"}`} {
		if m, err := Parse(text); !errors.Is(err, ErrForeign) {
			t.Errorf("%.40q: %+v, %v", text, m, err)
		}
	}
	if m, err := Parse(`{"gcPod":2,"session":"a\u001b[2J","new":{"x":1}}tail`); err != nil || m.Session != "a[2J" {
		t.Errorf("a later version: %+v, %v", m, err)
	}
}

// TestSaveAgain: a shorter message leaves nothing of a longer one.
func TestSaveAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, lines := range [][]string{{strings.Repeat("x", 3000)}, {"short"}} {
		if err := (Message{Lines: lines}).save(path); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var m Message
		if err := json.Unmarshal(data, &m); err != nil || !slices.Equal(m.Lines, lines) {
			t.Errorf("%.80q: %v", data, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(Message{Session: "a", Lines: []string{"x"}}.encode()))
	f.Add(`{"gcPod":1,"lines":["\u009b"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		if strings.ContainsFunc(strings.ReplaceAll(m.Session+m.Text(), "\n", ""), func(r rune) bool { return r < ' ' || r == 0x9b }) {
			t.Errorf("%+v", m)
		}
		if n := len(m.encode()); n > MaxMessage {
			t.Errorf("written again it has %d bytes", n)
		}
	})
}

func TestOOMKills(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text string
		want       int
	}{
		"version 2":  {"memory.events", "low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\noom_group_kill 1\n", 2},
		"version 1":  {"memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", 3},
		"old kernel": {"memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", -1},
		"none":       {"other", "", -1},
	} {
		root := t.TempDir()
		path := filepath.Join(root, tt.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := oomKills(root); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
