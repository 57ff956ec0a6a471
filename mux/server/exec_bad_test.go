package server

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
)

// soaking reports whether to run the long forms.
func soaking() bool { return os.Getenv("GC_SOAK") != "" || os.Getenv("GC_SOAK_RUNS") != "" }

// TestExecManyBytes: output far larger than the ring, a gigabyte in a soak, has
// the right totals and keeps its beginning and end.
func TestExecManyBytes(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	lines := uint64(240_000) // 22 MB
	if soaking() {
		lines = 11_000_000
	}
	r := run(t, c, api.ExecRequest{Command: fmt.Sprintf(
		"head -c %d /dev/zero | tr '\\0' x | fold -w 89 | sed 's/$/\\n/;s/\\n//'; echo the end", lines*89)})
	if r.Status != process.Completed || !strings.HasSuffix(r.Tail, "the end") || !r.Truncated {
		t.Fatalf("%s %q truncated=%t", r.Status, r.Tail[max(0, len(r.Tail)-20):], r.Truncated)
	}
	l, err := c.ProcessLog(t.Context(), r.ID, api.LogRequest{Tail: 3})
	if err != nil || l.TotalBytes != lines*90+8 && l.TotalBytes != lines*90+7 {
		t.Fatalf("%d bytes of %d, %v", l.TotalBytes, lines*90, err)
	}
	last := l.Lines[len(l.Lines)-1]
	if want := strings.Repeat("x", 89); !strings.HasSuffix(last.Text, "the end") || l.Lines[0].Text != want {
		t.Errorf("the last lines: %+v", l.Lines)
	}
	l, err = c.ProcessLog(t.Context(), r.ID, api.LogRequest{Offset: lines / 2, Limit: 1})
	if err != nil || len(l.Lines) == 0 || l.Lines[0].Missing == 0 {
		t.Errorf("what is not kept is not marked: %+v, %v", l, err)
	}
	var cursor, got, missing uint64
	for cursor < l.TotalBytes {
		p, err := c.ProcessPoll(t.Context(), r.ID, api.PollRequest{Cursor: &cursor, Bytes: 1 << 20, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		got, missing, cursor = got+uint64(len(p.Data)), missing+p.Missing, p.Cursor
	}
	if got != process.RingHead+process.RingTail || got+missing != l.TotalBytes {
		t.Errorf("read %d bytes, %d missing, of %d", got, missing, l.TotalBytes)
	}
}

// TestExecBinary: every byte arrives unchanged.
func TestExecBinary(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	r := run(t, c, api.ExecRequest{Command: "head -c 300000 /dev/urandom | tee copy", WorkDir: t.TempDir()})
	s, err := c.Get(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(s.WorkDir + "/copy")
	if err != nil {
		t.Fatal(err)
	}
	zero := uint64(0)
	p, err := c.ProcessPoll(t.Context(), r.ID, api.PollRequest{Cursor: &zero, Bytes: 1 << 20, Raw: true})
	if err != nil || string(p.Data) != string(want) {
		t.Errorf("%d bytes of %d are not the same, %v", len(p.Data), len(want), err)
	}
	if l, err := c.ProcessLog(t.Context(), r.ID, api.LogRequest{Tail: 20}); err != nil || strings.ContainsFunc(text(l), unicode.IsControl) {
		t.Errorf("the text of binary output has control characters: %+v, %v", l.Lines, err)
	}
}

// text joins the lines of a page.
func text(l api.LogResult) (all string) {
	for _, line := range l.Lines {
		all += line.Text
	}
	return all
}

// TestExecKeepsTheNewest: an owner's newest 50 ended commands are kept, with
// their output, and nothing is left of the others.
func TestExecKeepsTheNewest(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	var ids []string
	for range process.MaxKept + 5 {
		ids = append(ids, run(t, c, api.ExecRequest{Argv: []string{"echo", "x"}, Owner: "o"}).ID)
	}
	for {
		all, err := c.ProcessList(t.Context(), "o", true)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == process.MaxKept {
			if all[0].ID != ids[5] {
				t.Errorf("the oldest that is kept is %s, want %s", all[0].ID, ids[5])
			}
			break
		}
		if err := clock.Sleep(t.Context(), 5*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(c.Paths().Dir + "/processes")
	if err != nil || len(files) != process.MaxKept {
		t.Errorf("%d files of output, %v", len(files), err)
	}
}

// TestExecWithoutRoomForOutput: a command runs and ends correctly if none of
// its output can be kept.
func TestExecWithoutRoomForOutput(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	if err := os.WriteFile(c.Paths().Dir+"/processes", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, c, api.ExecRequest{Command: "echo x; exit 3", Background: true, Owner: "o"})
	r = awaitCommand(t, c, r.ID, "")
	if r.Status != process.Failed || code(r) != 3 {
		t.Errorf("%+v", r)
	}
	if got := screenText(t, c, r.ID); got != "x" {
		t.Errorf("its screen: %q", got)
	}
}
