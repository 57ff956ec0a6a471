//go:build linux && k8s && e2e

package k8s_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s"
)

// cutter is a way to the API server that breaks.
type cutter struct {
	net.Listener
	to   string
	cuts atomic.Int64 // connections that were cut

	mu    sync.Mutex
	conns map[net.Conn]bool
	wait  sync.WaitGroup
}

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to, conns: map[net.Conn]bool{}}
	c.wait.Go(c.serve)
	t.Cleanup(func() {
		l.Close()
		c.cut()
		c.wait.Wait()
	})
	return c
}

func (c *cutter) serve() {
	for {
		near, err := c.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.to)
		if err != nil {
			near.Close()
			continue
		}
		c.mu.Lock()
		c.conns[near], c.conns[far] = true, true
		c.mu.Unlock()
		for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
			c.wait.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				near.Close()
				far.Close()
			})
		}
	}
}

// cut breaks every connection.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		conn.Close()
		c.cuts.Add(1)
		delete(c.conns, conn)
	}
}

// kubeconfig is the cluster's, over the cutter.
func (c *cutter) kubeconfig(t *testing.T, from, server string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := strings.ReplaceAll(string(data), server, "https://"+c.Addr().String())
	if text == string(data) {
		t.Fatalf("no %s in the kubeconfig", server)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// cuts: however often every connection is cut, each message is typed once.
func (c *cluster) cuts(t *testing.T) {
	n := 20
	if soak := os.Getenv("GC_SOAK_NUDGES"); soak != "" {
		n, _ = strconv.Atoi(soak)
	}
	way := newCutter(t, strings.TrimPrefix(c.Server(), "https://"))
	s := c.settings(strict, boxImage)
	s.Kubeconfig = way.kubeconfig(t, c.Kubeconfig, c.Server())
	p := provider(t, s, "cuts", func(o *k8s.Options) { o.Stale = 0 }) // as in a city: a watch that is cut all the time comes back late
	start(t, p, "a", runtime.Config{Command: "stty -echo; echo ready; exec cat", ScrollbackLines: n + 100})
	shows(t, p, "a", "ready")
	begin := time.Now()
	for i := range n {
		var cutting sync.WaitGroup
		cutting.Go(func() {
			<-time.After(rand.N(20 * time.Millisecond)) // anywhere in a nudge
			way.cut()
		})
		text := fmt.Sprintf("message %d.", i)
		eventually(t, 2*time.Minute, func() error {
			r, err := p.Nudge(t.Context(), "a", runtime.TextContent(text))
			if err == nil && r.State != runtime.Submitted && r.State != runtime.Unverified {
				err = fmt.Errorf("%+v", r)
			}
			if err != nil && strings.Contains(err.Error(), "may have been typed") {
				t.Fatal(err) // it is not to be sent again
			}
			return err
		})
		cutting.Wait()
		if i%100 == 99 {
			t.Logf("%d messages, %d connections cut, after %v", i+1, way.cuts.Load(), time.Since(begin).Round(time.Second))
		}
	}
	shows(t, p, "a", fmt.Sprintf("message %d.", n-1))
	got, err := p.Peek(t.Context(), "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if times := strings.Count(got, fmt.Sprintf("message %d.", i)); times != 1 {
			t.Errorf("message %d was typed %d times", i, times)
		}
	}
	if int(way.cuts.Load()) < n {
		t.Errorf("only %d connections were cut", way.cuts.Load())
	}
}
