//go:build linux && k8s && e2e

package k8s_test

import (
	"fmt"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
)

// A session whose pod waits for its messages to be taken has ended.
func (c *cluster) endsBeforeItsPod(t *testing.T) {
	p := provider(t, c.settings(strict, boxImage), "outbox", nil)
	events, err := p.Events(t.Context())
	if err == nil {
		go func() { // as a controller does
			for range events {
			}
		}()
	}
	name, here := "a", map[string]string{"GC_CITY_PATH": "/nowhere", "GC_AGENT": "a"}
	start(t, p, name, runtime.Config{Command: "read go; /gc/gc nudge other hello; exit 3", Env: here})
	if _, err := p.Nudge(t.Context(), name, runtime.TextContent("go")); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func() error {
		if running, err := p.IsRunning(t.Context(), name); running || err != nil {
			return fmt.Errorf("running: %v, %v", running, err)
		}
		return nil
	})
	if out, err := c.Kubectl(t.Context(), "-n", strict, "get", "pod", p.PodName(name), "-o", "jsonpath={.status.phase}").Output(); string(out) != "Running" || err != nil {
		t.Errorf("the pod did not wait: %q, %v", out, err)
	}
	if exit, err := p.LastExit(t.Context(), name); err != nil || exit == nil || exit.Code != 3 {
		t.Errorf("exit: %+v, %v", exit, err)
	}
	if text, err := p.Peek(t.Context(), name, 0); err != nil {
		t.Errorf("peek: %q, %v", text, err)
	}
	start(t, p, name, runtime.Config{Command: "exec cat"})
}
