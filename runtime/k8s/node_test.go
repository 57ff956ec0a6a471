//go:build linux && k8s && e2e

package k8s_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/internal/testenv/k8snode"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s"
	"gascity.dev/gc/runtime/k8s/settings"
	"gascity.dev/gc/runtime/runtimetest"
)

const (
	boxImage  = "gc.local/agent:1" // busybox, bash and gc
	bareImage = "gc.local/bare:1"  // gc and cat
	shared    = "shared"           // a namespace whose pods see files of this machine
	strict    = "strict"           // a namespace with Pod Security "restricted"
)

// shareDir holds the files of tests that both sides see.
var shareDir string

func TestMain(m *testing.M) {
	if text := os.Getenv(starterVar); text != "" {
		os.Exit(hangingStart(text))
	}
	syscall.Umask(0)
	// A stalled connection to the API server is found in seconds.
	os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	testenv.SideBySide(3) // they mostly wait for pods
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if shareDir, err = os.MkdirTemp("/var/tmp", "gc-k8s-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(shareDir)
	return m.Run()
}

// cluster is the node with its images and namespaces.
type cluster struct {
	*k8snode.Node
	overlay string // for pods that see this machine's files and processes
	gc      string // with gc-k8s beside it
}

func newCluster(ctx context.Context, t testing.TB, n *k8snode.Node) *cluster {
	t.Helper()
	c := &cluster{Node: n}
	gc := program(t)
	box, err := k8snode.Busybox(ctx, boxImage)
	if err != nil {
		t.Fatal(err)
	}
	box.Files["usr/local/bin/gc"] = gc
	addPrograms(t, box, "bash", "cat", "sleep")
	bare := k8snode.Bare(bareImage, gc)
	bare.Files["usr/local/bin/gc"] = gc
	addPrograms(t, bare, "cat")
	for _, image := range []k8snode.Image{box, bare} {
		if err := n.Import(ctx, image); err != nil {
			t.Fatal(err)
		}
	}
	c.namespace(ctx, t, shared, nil)
	c.namespace(ctx, t, strict, k8snode.Restricted)
	c.overlay = filepath.Join(t.TempDir(), "overlay.yaml")
	text := strings.ReplaceAll(overlay, "SHARE", shareDir)
	if err := os.WriteFile(c.overlay, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// overlay lets the conformance suite look at files and processes of its sessions: its cases
// know only this machine.
const overlay = `
spec:
  hostPID: true
  securityContext: {runAsNonRoot: false, runAsUser: 0, runAsGroup: 0}
  volumes: [{name: share, hostPath: {path: SHARE}}]
  containers:
  - name: agent
    env: [{name: LOWER, value: base}, {name: PLAIN, value: zero}, {name: SHELL, value: /bin/bash}]
    volumeMounts: [{name: share, mountPath: SHARE}]
`

// program returns a static gc.
func program(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("GC_E2E_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "gc")
	cmd := exec.Command("go", "build", "-o", bin, "gascity.dev/gc/cmd/gc")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// addPrograms adds programs of this machine, with their libraries: cases need bash, and a
// cat and a sleep that are not busybox's, which buffers and looks at its name. Its shell
// would not execute them.
func addPrograms(t testing.TB, image k8snode.Image, names ...string) {
	t.Helper()
	for _, name := range names {
		path := testenv.Need(t, name)
		delete(image.Links, "bin/"+name)
		image.Files["bin/"+name] = path
		out, err := exec.Command("ldd", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(out)) {
			if filepath.IsAbs(word) {
				image.Files[strings.TrimPrefix(word, "/")] = word
			}
		}
	}
}

// namespace makes a namespace in which pods can be created.
func (c *cluster) namespace(ctx context.Context, t testing.TB, name string, labels map[string]any) {
	t.Helper()
	if err := c.Namespace(ctx, name, labels); err != nil {
		t.Fatal(err)
	}
}

// settings are for small pods in a namespace.
func (c *cluster) settings(namespace, image string) settings.Settings {
	s := settings.Settings{Kubeconfig: c.Kubeconfig, Namespace: namespace, Image: image}.Resolve(func(string) string { return "" })
	s.Requests = map[string]string{"cpu": "5m", "memory": "8Mi"}
	s.Limits = map[string]string{"memory": "1Gi"}
	return s
}

// provider returns a new provider; change may be nil.
func provider(t testing.TB, s settings.Settings, city string, change func(*k8s.Options)) *k8s.Provider {
	t.Helper()
	o := k8s.Options{City: func() (string, bool) { return city, true }, Cluster: s, Version: "test", StopGrace: 500 * time.Millisecond, Stale: time.Second}
	if change != nil {
		change(&o)
	}
	p, err := k8s.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

var cities atomic.Int64

// TestNode runs everything on one node: only one runs on a machine.
func TestNode(t *testing.T) {
	n, ctx := k8snode.Run(t, 50*time.Minute)
	c := newCluster(ctx, t, n)
	c.gc = binaries(t)
	t.Setenv("TMPDIR", shareDir)
	t.Setenv("HOME", "/home/agent") // a case compares it with that of a session
	t.Run("Conformance", func(t *testing.T) {
		runtimetest.Run(t, c.harness)
	})
	t.Run("Bare", c.bare)
	t.Run("EndsBeforeItsPod", c.endsBeforeItsPod)
	t.Run("SPDY", c.spdy)
	t.Run("City", c.city)
	t.Run("Faults", func(t *testing.T) { faults(t, c) })
}

// harness is a city of its own.
func (c *cluster) harness(t *testing.T) runtimetest.Harness {
	city := fmt.Sprintf("city-%d", cities.Add(1))
	s := c.settings(shared, boxImage)
	s.PodOverlay = c.overlay
	p := provider(t, s, city, nil)
	return runtimetest.Harness{
		Provider: p,
		Reopen:   func(t *testing.T) runtime.Provider { return provider(t, s, city, nil) },
		Hang: func(t *testing.T) func() {
			resume, err := c.Pause(k8snode.APIServer)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(resume)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			for tick := time.Tick(20 * time.Millisecond); ; {
				if _, err := p.ListRunning(ctx, ""); errors.Is(err, runtime.ErrBackendUnreachable) {
					return resume
				}
				select {
				case <-tick:
				case <-ctx.Done():
					t.Fatal("the cluster stopped, and the provider still answers")
				}
			}
		},
	}
}
