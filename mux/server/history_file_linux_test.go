package server

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gascity.dev/gc/mux/api"
)

// sequence writes numbered lines.
const sequence = "i=0; while [ $i -lt 300 ]; do seq -f '%07g " + "................................................................................" + "' $((i*200)) $((i*200+199)); i=$((i+1)); done"

// checkSequence requires all of sequence's lines, in order, except those that a
// note reports lost; it returns their number.
func checkSequence(t *testing.T, text string) int {
	t.Helper()
	next, lost := 0, 0
	for _, line := range strings.Split(text, "\n") {
		if m := lostMark.FindStringSubmatch(line); m != nil {
			var n int
			fmt.Sscan(m[1], &n)
			next, lost = next+n, lost+n
			continue
		}
		if want := fmt.Sprintf("%07d ....", next); !strings.HasPrefix(line, want) {
			t.Fatalf("line %q, want %q after %d lost", line, want, lost)
		}
		next++
	}
	if next != 60000 {
		t.Fatalf("%d lines", next)
	}
	return lost
}

var lostMark = regexp.MustCompile(`^\[lost: (\d+) lines of history\]$`)

// TestFullDisk: with a full disk the history has a gap that shows its length,
// and nothing else differs, even for the next server. Once there is space
// again, history is kept.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	c := startServerAt(t, p)
	if err := os.MkdirAll(filepath.Join(p.Dir, "history"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(p.Dir, "history", "full-id")
	if err := os.Symlink("/dev/full", file); err != nil {
		t.Fatal(err)
	}
	gate := t.TempDir() + "/gate"
	command := sequence + "; while [ ! -e " + gate + " ]; do sleep 0.01; done; " + sequence
	if _, err := c.Create(t.Context(), api.CreateRequest{ID: "full-id", Name: "full", Command: command, Env: testEnv, ScrollbackLines: 200_000}); err != nil {
		t.Fatal(err)
	}
	await(t, c, "full", "0059999 ")
	lost := checkSequence(t, screenText(t, c, "full"))
	if lost == 0 || lost > 55000 {
		t.Fatalf("%d lines lost of 60000", lost)
	}
	r, err := c.Peek(t.Context(), api.PeekRequest{Name: "full"})
	if err != nil || r.HistoryLost != lost || r.ScreenLost {
		t.Errorf("HistoryLost %d, ScreenLost %v, %v; %d lines are lost", r.HistoryLost, r.ScreenLost, err, lost)
	}
	killServer(t, c)
	// the replay makes the newest pages again, which were lost since the snapshot
	if again := checkSequence(t, screenText(t, c, "full")); again > lost {
		t.Errorf("after a kill %d lines are lost, before %d", again, lost)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if x := awaitExit(t, c, "full"); x.Code != 0 {
		t.Fatalf("exit %+v", x)
	}
	all := screenText(t, c, "full")
	if second := strings.LastIndex(all, "\n0000000 "); second < 0 || checkSequence(t, all[second+1:]) != 0 {
		t.Error("lines that came when there was space again are lost")
	}
	if fi, err := os.Stat(file); err != nil || fi.Size() == 0 {
		t.Errorf("the file: %v", err)
	}
	if err := c.Kill(t.Context(), "full", 0); err != nil {
		t.Fatal(err)
	}
	for { // the writer removes it
		if _, err := os.Stat(file); os.IsNotExist(err) {
			break
		}
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
