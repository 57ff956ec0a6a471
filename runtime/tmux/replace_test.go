package tmux_test

import (
	"io"
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/tmux"
)

// A start replaces an ended session of its own name and no other, even while someone
// is attached to another one, which tmux would take in place of a missing session.
func TestStartBesideAnEndedSession(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	begin(t, p, "watched", "read -r x; exit 4")
	in, keys := io.Pipe()
	defer in.Close()
	done := make(chan error, 1)
	go func() {
		done <- p.Attach(t.Context(), "watched", runtime.Terminal{
			In: in, Out: io.Discard, Resized: make(chan struct{}),
			Size: func() (int, int, error) { return 80, 24, nil },
		})
	}()
	for attached := false; !attached; {
		var err error
		if attached, err = p.IsAttached(t.Context(), "watched"); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.SendKeys(t.Context(), "watched", "Enter"); err != nil {
		t.Fatal(err)
	}
	for {
		e, err := p.LastExit(t.Context(), "watched")
		if err != nil || e != nil && e.Code != 4 {
			t.Fatalf("%+v, %v", e, err)
		}
		if e != nil {
			break
		}
	}
	begin(t, p, "new", "exec cat")
	if got := tmux.AskAt(t, b.socket, "=watched:", "#{pane_dead} #{session_attached}"); got != "1 1" {
		t.Errorf("the ended session is %q", got)
	}
	if _, err := io.WriteString(keys, "\x02d"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	begin(t, p, "watched", "exec cat")
}
