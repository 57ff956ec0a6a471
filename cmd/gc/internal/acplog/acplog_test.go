package acplog

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/internal/clock"
)

var at = time.Date(2026, 3, 1, 15, 4, 5, 0, time.Local)

func write(t *testing.T, dir string, entries ...transcript.Entry) {
	t.Helper()
	w, err := transcript.NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, e := range entries {
		e.Time = at
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLines(t *testing.T) {
	dir := t.TempDir()
	if (&Log{Dir: dir}).Exists() {
		t.Error("an empty directory is no transcript")
	}
	write(t, dir,
		transcript.Entry{Kind: transcript.Started, Text: "Agent 1.0", ID: "s1"},
		transcript.Entry{Kind: "prompt", Text: "fix it\nnow", By: "mayor"},
		transcript.Entry{Kind: "thought", Text: "hm"},
		transcript.Entry{Kind: "tool", Tool: "execute", Text: "go test", Status: "failed", Paths: []string{"/w/a"}, Output: strings.Repeat("x\n", 25)},
		transcript.Entry{Kind: transcript.Question, Text: "Run git push?", Options: []string{"Allow", "Reject"}},
		transcript.Entry{Kind: transcript.Answer, Text: "Reject", By: `deny "execute:git push*"`},
		transcript.Entry{Kind: "message", Text: "done\x1b[2J\n\tindented"},
		transcript.Entry{Kind: transcript.Turn, StopReason: "end_turn", Duration: clock.Millis(3210 * time.Millisecond)},
		transcript.Entry{Kind: transcript.Turn, Error: "no key"},
	)
	l := &Log{Dir: dir}
	defer l.Close()
	if !l.Exists() {
		t.Error("the transcript is there")
	}
	var got []string
	if err := l.Past(0, func(line string) error { got = append(got, line); return nil }); err != nil {
		t.Fatal(err)
	}
	want := append([]string{
		"15:04:05 — started Agent 1.0 s1", "15:04:05 › fix it  (mayor)", "  now", "~ hm", "⏺ execute go test ✗", "  /w/a", "  ⎿ x",
	}, strings.Split(strings.Repeat("    x\n", 19), "\n")[:19]...)
	want = append(want, "    … 5 more lines",
		"15:04:05 ? Run git push?", "  options: Allow, Reject", `15:04:05 = Reject  (deny "execute:git push*")`,
		`done\x1b[2J`, "    indented", "15:04:05 — end_turn after 3.2s", "15:04:05 — no key after 0s")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLastLinesAndJSON(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, transcript.Entry{Kind: "message", Text: "a\nb\nc"}, transcript.Entry{Kind: "message", Text: "d"})
	var got []string
	add := func(line string) error { got = append(got, line); return nil }
	if err := (&Log{Dir: dir}).Past(2, add); err != nil || strings.Join(got, "") != "cd" {
		t.Errorf("%q, %v", got, err)
	}
	got = nil
	if err := (&Log{Dir: dir, JSON: true}).Past(1, add); err != nil || len(got) != 1 {
		t.Fatalf("%q, %v", got, err)
	}
	var e transcript.Entry
	if err := json.Unmarshal([]byte(got[0]), &e); err != nil || e.N != 2 || e.Text != "d" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, transcript.Entry{Kind: "message", Text: "old"})
	synctest.Test(t, func(t *testing.T) {
		l := &Log{Dir: dir}
		defer l.Close()
		var got []string
		add := func(line string) error { got = append(got, line); return nil }
		if err := l.Past(0, add); err != nil {
			t.Fatal(err)
		}
		var over atomic.Bool
		done := make(chan error)
		go func() {
			done <- l.Follow(t.Context(), func(context.Context) (bool, error) { return over.Load(), nil }, add)
		}()
		time.Sleep(time.Second)
		write(t, dir, transcript.Entry{Kind: "message", Text: "new"})
		time.Sleep(time.Second)
		synctest.Wait()
		if strings.Join(got, " ") != "old new" {
			t.Errorf("%q", got)
		}
		write(t, dir, transcript.Entry{Kind: "message", Text: "last"})
		over.Store(true)
		if err := <-done; err != nil || strings.Join(got, " ") != "old new last" {
			t.Errorf("%q, %v", got, err)
		}
	})
}
