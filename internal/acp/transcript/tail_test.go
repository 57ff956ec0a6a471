package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	tail := NewTail(dir, 0)
	defer tail.Close()
	next := func() (texts []string) {
		t.Helper()
		if err := tail.Next(func(e Entry) error { texts = append(texts, e.Text); return nil }); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	if got := next(); len(got) != 0 {
		t.Errorf("without a directory: %q", got)
	}
	w, err := NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	add := func(text string) {
		t.Helper()
		if err := w.Add(Entry{Kind: "message", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	add("a")
	add("b")
	if got := strings.Join(next(), ""); got != "ab" {
		t.Errorf("first: %q", got)
	}
	if got := next(); len(got) != 0 {
		t.Errorf("read twice: %q", got)
	}
	f, err := os.OpenFile(filepath.Join(dir, current), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, part := range []string{`{"n":3,"kind":"message",`, `"text":"c"}`, "\n"} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(next(), ""); got != "" && i < 2 || i == 2 && got != "c" {
			t.Errorf("part %d of a line: %q", i, got)
		}
	}
}

// No entry is lost or repeated when the files take turns between two calls.
func TestTailAcrossFiles(t *testing.T) {
	defer SetMaxFile(SetMaxFile(80 << 10))
	dir := t.TempDir()
	w, err := NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tail := NewTail(dir, 0)
	defer tail.Close()
	big := strings.Repeat("x", 10<<10)
	seen := int64(0)
	for i := range 40 {
		if err := w.Add(Entry{Kind: "message", Text: fmt.Sprint(i, big)}); err != nil {
			t.Fatal(err)
		}
		if i%3 != 0 {
			continue
		}
		err := tail.Next(func(e Entry) error {
			if e.N != seen+1 {
				t.Errorf("entry %d after %d", e.N, seen)
			}
			seen = e.N
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen != 40 {
		t.Errorf("%d of 40 entries", seen)
	}
	if _, err := os.Stat(filepath.Join(dir, previous)); err != nil {
		t.Errorf("the files did not take turns: %v", err)
	}
}
