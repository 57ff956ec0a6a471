//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestManyWriters: concurrent messages of many processes arrive whole, once
// each, and all are submitted.
func TestManyWriters(t *testing.T) {
	const writers, each = 8, 4
	b := newBox(t)
	file := filepath.Join(b.dir, "got.txt")
	b.gc("session", "new", name, "--", "echo ready; cat > "+file)
	b.waits("text=^ready")
	var want []string
	var wg sync.WaitGroup
	for w := range writers {
		for m := range each {
			want = append(want, message(w, m))
		}
		wg.Go(func() {
			for m := range each {
				if r := b.run("session", "nudge", name, message(w, m)); r.code != 0 || strings.TrimSpace(r.out) != "submitted" {
					t.Errorf("exit %d: %s %s", r.code, r.out, r.err)
				}
			}
		})
	}
	wg.Wait()
	b.gc("session", "keys", name, "C-d")
	b.waits("exit")
	got := strings.Split(strings.TrimSuffix(b.read(file), "\n"), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d lines came of %d; the first %.60q", len(got), len(want), got)
	}
}

// message is a line of 2 KB that identifies its origin.
func message(writer, number int) string {
	return fmt.Sprintf("%d/%d %s", writer, number, strings.Repeat(fmt.Sprintf("w%dm%d.", writer, number), 400))
}

// TestNudgeReceipts: an effect that cannot be seen is not reported as
// submitted.
func TestNudgeReceipts(t *testing.T) {
	b := newBox(t)
	b.gc("session", "new", name, "--", "stty -echo; echo ready; read -r word; echo got $word; exec sleep 1000")
	b.waits("text=^ready")
	r := b.run("session", "nudge", name, "secret")
	switch word, _, _ := strings.Cut(strings.TrimSpace(r.out), " "); word {
	case "submitted":
		if r.code != 0 {
			t.Errorf("%s", r)
		}
	case "unverified":
		if r.code != 4 {
			t.Errorf("%s", r)
		}
	default:
		t.Errorf("%s", r)
	}
	b.waits("text=^got secret")
	b.gc("session", "new", "ended", "--", "exit 0")
	b.gc("session", "wait", "ended", "--timeout", patience.String())
	b.fails(3, []string{"session", "nudge", "ended", "hello"}, "ended")
}
