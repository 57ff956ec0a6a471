package status_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/vt"
)

// The multiplexer evaluates a screen after a pause in the output, and at least
// this often.
const (
	evaluateQuiet = 16 * time.Millisecond
	evaluateEvery = 250 * time.Millisecond
)

// output is what a program wrote at one time in a recording.
type output struct {
	at   time.Duration
	text string
}

// readRecording reads a packed asciicast (version 2).
func readRecording(t *testing.T, path string) (cols, rows int, out []output) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 4<<20)
	var head struct{ Width, Height int }
	for lines.Scan() {
		if head.Width == 0 {
			err = json.Unmarshal(lines.Bytes(), &head)
		} else {
			var event [3]any
			err = json.Unmarshal(lines.Bytes(), &event)
			out = append(out, output{time.Duration(event[0].(float64)*1000) * time.Millisecond, event[2].(string)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return head.Width, head.Height, out
}

// replay plays a recording in its own time and returns a line for every change
// of the answer: the time in seconds, the state, its source, and for a question
// its prompt and options, the selected one marked.
func replay(t *testing.T, path string, f status.Facts) []string {
	t.Helper()
	cols, rows, out := readRecording(t, path)
	term, err := vt.New(vt.Options{Cols: cols, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Unix(1_800_000_000, 0)
	f.Started, f.Dialogs = begin, rule.Dialogs()
	var d status.Detector
	var lines []string
	news, again := time.Time{}, time.Time{} // the first output not yet evaluated
	evaluate := func(now time.Time) {
		var a status.Activity
		a, again = d.Detect(term, f, now)
		news = time.Time{}
		line := shownAs(a)
		if len(lines) == 0 || !strings.HasSuffix(lines[len(lines)-1], " s  "+line) {
			lines = append(lines, fmt.Sprintf("%6.2f s  %s", now.Sub(begin).Seconds(), line))
			if os.Getenv("SHOW") != "" {
				fmt.Println(lines[len(lines)-1], a.Evidence, "title", term.Title())
				fmt.Println(term.ScreenText())
			}
		}
	}
	end := begin.Add(out[len(out)-1].at + 10*time.Second)
	for i, o := range out {
		now := begin.Add(o.at)
		_, _ = term.Write([]byte(o.text))
		f.LastOutput = now
		for _, e := range term.TakeEvents() {
			d.Event(e, now)
		}
		next := end
		if i+1 < len(out) {
			next = begin.Add(out[i+1].at)
		}
		if news.IsZero() {
			news = now
		}
		at := now.Add(evaluateQuiet)
		if every := news.Add(evaluateEvery); every.Before(at) {
			at = every
		}
		for ; !at.IsZero() && !at.After(next); at = again {
			evaluate(at)
		}
	}
	return lines
}

func shownAs(a status.Activity) string {
	s := a.State
	if a.Kind != "" {
		s += "(" + a.Kind + ")"
	}
	s += " by " + a.Source
	if p := a.Pending; p != nil {
		s += fmt.Sprintf(": %s [", p.Prompt)
		for i, o := range p.Options {
			if i > 0 {
				s += " | "
			}
			if i == p.Selected {
				s += "*"
			}
			s += o
		}
		s += "]"
	}
	return s
}

// TestRecordings plays recordings of real agents: the expected answers over
// time are in the table beside each of them.
func TestRecordings(t *testing.T) {
	paths, err := filepath.Glob("testdata/recordings/*.cast.gz")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".cast.gz")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, err := os.ReadFile(strings.TrimSuffix(path, ".cast.gz") + ".states")
			if err != nil {
				t.Fatal(err)
			}
			head, want, _ := strings.Cut(string(table), "\n")
			f := status.Facts{}
			if _, agent, ok := strings.Cut(head, "agent: "); ok {
				f.Rules, f.Ready = preset(t, agent)
			}
			f.Leader, f.Foreground = "node", "node"
			if got := strings.Join(replay(t, path, f), "\n"); got != strings.TrimRight(want, "\n") {
				t.Errorf("believed:\n%s\n\nwant:\n%s", got, want)
			}
		})
	}
}

// preset returns what an agent's preset says about its screen.
func preset(t *testing.T, name string) (rules []rule.Status, ready string) {
	t.Helper()
	all, err := config.Presets()
	if err != nil {
		t.Fatal(err)
	}
	list, err := config.PresetRules()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Provider == name {
			rules = append(rules, rule.Status{
				Name: r.Name, State: r.State, Kind: r.Kind, Region: r.Region, All: r.All, Any: r.Any, Not: r.Not,
				Priority: r.Priority, Moves: r.Moves, Settle: clock.Millis(time.Duration(r.SettleMS) * time.Millisecond),
			})
		}
	}
	return rules, all[name].ReadyPromptPrefix
}
