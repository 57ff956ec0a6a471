//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gascity.dev/gc/internal/acp/acpsh"
	"gascity.dev/gc/internal/testenv"
)

// A message to an agent over ACP costs the multiplexer one connection for the lookup and
// the message, and one for what the agent is doing.
func TestRequestsOfANudgeOverACP(t *testing.T) {
	command, err := acpsh.Command("exec cat")
	if err != nil {
		t.Fatal(err)
	}
	c := newCity(t, fmt.Sprintf("[[agents]]\nname = \"a\"\nsession = \"acp\"\nstart_command = \"sh\"\nacp_command = %q\n", command))
	c.gc("--city", c.path, "start")

	var mu sync.Mutex
	var requests []string
	connections := 0
	proxy := filepath.Join(c.dir, "p")
	testenv.Proxy(t, proxy, c.socket, func() {
		mu.Lock()
		defer mu.Unlock()
		connections++
	}, func(r *http.Request) int {
		mu.Lock()
		defer mu.Unlock()
		parts := strings.Split(r.URL.Path, "/")
		requests = append(requests, r.Method+" "+parts[len(parts)-1])
		return testenv.Pass
	})
	through := *c.box
	through.env = append(slices.Clone(c.env), "GC_MUX_SOCKET="+proxy)
	c.gc("--city", c.path, "session", "wait", "gc-live-a", "--until", "idle", "--timeout", "15s")
	through.gc("--city", c.path, "nudge", "a", "hello")
	mu.Lock()
	defer mu.Unlock()
	if len(requests) > 6 || connections > 2 {
		t.Errorf("%d connections: %q", connections, requests)
	}
}
