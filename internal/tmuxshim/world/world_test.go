package world

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestChannel: a signal wakes everybody who waits, or the next one.
func TestChannel(t *testing.T) {
	s := Open(t.TempDir(), "/tmp/tmux-0/default")
	c := s.Channel("a/b")
	if err := c.Signal(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Wait(ctx) }()
	waits := func() bool {
		fifos, _ := filepath.Glob(filepath.Join(c.dir, "*.fifo"))
		return len(fifos) == 1
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	if err := c.Signal(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("woken: %v", err)
	}
	go func() { done <- c.Wait(ctx) }()
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestUpdate: changes of many writers at once are all kept.
func TestUpdate(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			s := Open(dir, "sock")
			if err := s.Update(func(w *World) error { w.NewSession("s"); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := Open(dir, "sock")
	w, err := s.Load()
	if err != nil || len(w.Sessions) != 50 || w.NextSession != 50 {
		t.Errorf("%d sessions, %v", len(w.Sessions), err)
	}
	failed := errors.New("no")
	if err := s.Update(func(w *World) error { w.Sessions = nil; return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if w, err = s.Load(); err != nil || len(w.Sessions) != 50 {
		t.Errorf("after a failed change %d sessions, %v", len(w.Sessions), err)
	}
	if st, err := os.Stat(s.file()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}

// TestKeep: what is active passes on when panes end.
func TestKeep(t *testing.T) {
	w := &World{}
	s := w.NewSession("s")
	first, a := w.NewWindow(s, 0)
	s.Current = first.ID
	b := w.NewPane(first, 1)
	first.Select(b)
	second, c := w.NewWindow(s, 5)
	s.Select(second)
	if gone := w.Keep(func(p *Pane) bool { return p != c && p != b }); len(gone) != 2 {
		t.Fatalf("%d panes gone", len(gone))
	}
	if s.CurrentWindow() != first || first.ActivePane() != a || s.LastWindow() != nil {
		t.Errorf("%+v, %+v", s, first)
	}
	w.Keep(func(*Pane) bool { return false })
	if len(w.Sessions) != 0 {
		t.Errorf("%d sessions without panes", len(w.Sessions))
	}
}

// TestSplit: the parts of targets.
func TestSplit(t *testing.T) {
	for in, want := range map[string]string{
		"a": "||a", "a:": "a||", ":b": "|b|", "a:b": "a|b|", "a:b.c": "a|b|c", "b.c": "|b|c", ".c": "||c", "$1": "$1||", "@1": "|@1|", "%1": "||%1", "a:.c": "a||c",
	} {
		x, y, z := split(in, KindPane)
		if got := strings.Join([]string{x, y, z}, "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
