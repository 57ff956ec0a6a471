package mux

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gascity.dev/gc/mux/api"
	"golang.org/x/sys/unix"
)

// sequence writes numbered lines.
const sequence = "i=0; while [ $i -lt 300 ]; do seq -f '%07g " + "................................................................................" + "' $((i*200)) $((i*200+199)); i=$((i+1)); done"

// checkSequence wants all of sequence's lines, in order, but for those that a
// mark says are lost; it returns how many are.
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

// TestFullDisk: with a disk that takes nothing, the history has a gap that says
// how long it is, and nothing else is different, also for the next server. When
// there is room again, what comes then is kept.
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
	lost := checkSequence(t, screen(t, c, "full"))
	if lost == 0 || lost > 55000 {
		t.Fatalf("%d lines lost of 60000", lost)
	}
	r, err := c.Peek(t.Context(), api.PeekRequest{Name: "full"})
	if err != nil || r.HistoryLost != lost || r.ScreenLost {
		t.Errorf("HistoryLost %d, ScreenLost %v, %v; %d lines are lost", r.HistoryLost, r.ScreenLost, err, lost)
	}
	killServer(t, c)
	// The replay makes the newest pages again, that were lost since the snapshot.
	if again := checkSequence(t, screen(t, c, "full")); again > lost {
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
	all := screen(t, c, "full")
	if second := strings.LastIndex(all, "\n0000000 "); second < 0 || checkSequence(t, all[second+1:]) != 0 {
		t.Error("lines are lost that came when there was room again")
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

// TestHistoryRoomIsGivenBack: pages that nobody needs take no room for long,
// also those that were dropped before a kill.
func TestHistoryRoomIsGivenBack(t *testing.T) {
	w := newHistoryWriter()
	f := &historyFile{path: filepath.Join(t.TempDir(), "id"), writer: w}
	defer func() { w.shutAll() }()
	var numbers []uint64
	for range 2 * spareMany {
		n, err := f.Append(make([]byte, 4*historyBlock))
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	w.flush()
	room := func() int64 {
		var st unix.Stat_t
		if err := unix.Stat(f.path, &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks * 512
	}
	full := room()
	drop := func(from, to int) []byte {
		for _, n := range numbers[from:to] {
			f.Drop(n)
		}
		mark := bytes.Join(f.mark(), nil)
		f.marked()
		w.flush()
		return mark
	}
	mark := drop(0, spareMany-1)
	if got := room(); got != full {
		t.Errorf("a few spare pages: %d bytes of %d are left", got, full)
	}
	f = &historyFile{path: f.path, writer: w} // a kill
	if err := f.restore(mark); err != nil {
		t.Fatal(err)
	}
	drop(spareMany-1, len(numbers))
	if got := room(); got > 0 {
		t.Errorf("nothing is needed, and %d bytes are left", got)
	}
}
