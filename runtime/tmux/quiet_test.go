package tmux_test

import (
	"fmt"
	"sync"
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/tmux"
)

// A server survives connections that open and close while sessions start and end.
// tmux up to 3.6 crashes if it has a notice for a client that is connecting.
func TestConnectionsComeAndGo(t *testing.T) {
	b := newBackend(t)
	first := b.provider(t)
	start := func(p *tmux.Provider, name string) {
		if err := p.Start(t.Context(), name, runtime.Config{WorkDir: t.TempDir(), Command: "exec cat"}); err != nil {
			t.Error(err)
		}
	}
	start(first, "stays")
	server := tmux.Ask(t, b.socket, "#{pid}")
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for i := range 15 {
			name := fmt.Sprintf("passes-%d", i)
			start(first, name)
			if err := first.Stop(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
	})
	connected := make(chan bool, 45)
	for range 3 {
		tasks.Go(func() {
			for range 15 {
				p := b.provider(t)
				for range 3 * tmux.FewQueries {
					if ok, err := p.IsRunning(t.Context(), "stays"); !ok || err != nil {
						t.Errorf("running: %v, %v", ok, err)
					}
				}
				connected <- p.Connected()
				p.Close()
			}
		})
	}
	tasks.Wait()
	close(connected)
	n := 0
	for ok := range connected {
		if ok {
			n++
		}
	}
	if n == 0 {
		t.Error("nobody ever connected")
	}
	if now := tmux.Ask(t, b.socket, "#{pid}"); now != server {
		t.Errorf("the server is another one: %s, was %s", now, server)
	}
}
