package transcript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/transcript"
)

func texts(t *testing.T, dir string, after int64) []string {
	t.Helper()
	var out []string
	err := transcript.Read(dir, after, func(e transcript.Entry) error {
		out = append(out, fmt.Sprint(e.N, " ", e.Text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func add(t *testing.T, dir string, list ...string) {
	t.Helper()
	w, err := transcript.NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, text := range list {
		if err := w.Add(transcript.Entry{Kind: "message", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNumbersContinue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	if got := texts(t, dir, 0); got != nil {
		t.Errorf("without a transcript: %q", got)
	}
	add(t, dir, "one", "two")
	f, err := os.OpenFile(filepath.Join(dir, "transcript.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"n":3,"text":"cut o`) // a host that was killed
	f.Close()
	add(t, dir, "three")
	if got := strings.Join(texts(t, dir, 1), "; "); got != "2 two; 3 three" {
		t.Errorf("got %s", got)
	}
}

// The files take turns; nothing is lost before the second turn.
func TestFilesTakeTurns(t *testing.T) {
	defer transcript.SetMaxFile(transcript.SetMaxFile(80 << 10))
	dir := t.TempDir()
	big := strings.Repeat("x", 10<<10)
	list := make([]string, 12)
	for i := range list {
		list[i] = big
	}
	add(t, dir, list...)
	got := texts(t, dir, 0)
	if len(got) != 12 || !strings.HasPrefix(got[11], "12 ") {
		t.Errorf("%d entries", len(got))
	}
	for _, name := range []string{"transcript.jsonl", "transcript.1.jsonl"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 || info.Size() > 100<<10 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
