//go:build linux && k8s && e2e

package k8snode

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/testenv"
)

// TestNode starts a node after one that was not stopped, runs a pod of each kind of
// image, loses and regains a program, stops the node and looks for what it left.
func TestNode(t *testing.T) {
	if err := check(); err != nil {
		testenv.Missing(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute) // with the first build
	defer cancel()
	before := traces(t)

	abandoned := abandon(ctx, t)
	began := time.Now()
	n, err := Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range abandoned {
		if startTime(pid) != "" {
			t.Errorf("process %d of the first node still runs: %q", pid, arguments(pid))
		}
	}
	defer func() {
		if err := n.Stop(); err != nil { // after Stop below: nothing
			t.Error(err)
		}
	}()
	t.Logf("ready after %.1f s", time.Since(began).Seconds())

	box, err := Busybox(ctx, "gc.local/box:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range []Image{box, Bare("gc.local/bare:1", n.bin.pause)} {
		if err := n.Import(ctx, image); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("Exit", func(t *testing.T) {
		n.create(ctx, t, "exits", box.Name, "sh", "-c", "exit 7")
		if p := n.await(ctx, t, "exits", "Failed"); p.code() != 7 {
			t.Errorf("exit status %d, want 7", p.code())
		}
	})
	t.Run("NoShell", func(t *testing.T) {
		n.create(ctx, t, "bare", "gc.local/bare:1")
		n.await(ctx, t, "bare", "Running")
		out, err := n.Kubectl(ctx, "exec", "bare", "--", "sh", "-c", "true").CombinedOutput()
		if err == nil {
			t.Errorf("the image has a shell: %s", out)
		}
	})
	t.Run("Exec", func(t *testing.T) {
		n.create(ctx, t, "box", box.Name, "sleep", "3600")
		n.await(ctx, t, "box", "Running")
		if out, err := n.Kubectl(ctx, "exec", "box", "--", "id", "-u").CombinedOutput(); err != nil || string(out) != "0\n" {
			t.Errorf("exec: %q, %v", out, err)
		}
	})
	t.Run("LosesTheAPIServer", func(t *testing.T) {
		n.Kill(APIServer)
		if err := n.Call(ctx, http.MethodGet, "/readyz", nil, nil); err == nil {
			t.Error("a killed API server answers")
		}
		if err := n.Run(APIServer); err != nil {
			t.Fatal(err)
		}
		if err := n.AwaitAPI(ctx); err != nil {
			t.Fatal(err)
		}
		n.await(ctx, t, "box", "Running")
	})

	pids := n.Pids()
	if len(pids) != 6 {
		t.Errorf("%d programs run, want 6", len(pids))
	}
	began = time.Now()
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped after %.1f s", time.Since(began).Seconds())
	for _, pid := range pids {
		if startTime(pid) != "" {
			t.Errorf("process %d still runs: %q", pid, arguments(pid))
		}
	}
	if after := traces(t); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
	if _, err := os.Stat(n.dir); err == nil {
		t.Errorf("%s remains", n.dir)
	}
}

// abandon leaves a node with a pod to the next Start, as a killed test does, and
// returns its processes.
func abandon(ctx context.Context, t *testing.T) []int {
	t.Helper()
	n, err := Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n.create(ctx, t, "abandoned", pauseImage)
	n.await(ctx, t, "abandoned", "Running")
	n.service.drop()
	if err := n.lock.Close(); err != nil {
		t.Fatal(err)
	}
	return n.Pids()
}

// traces describes what a node changes on its machine.
func traces(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	links, err := os.ReadDir("/sys/class/net")
	if err != nil {
		t.Fatal(err)
	}
	results, err := filepath.Glob("/var/lib/cni/results/*")
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := output(t.Context(), "", "ip", "-o", "address", "show", "dev", "lo")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "mounts:\n%s\nlinks: %v\naddresses: %s\ncgroups: %v\nnamespaces: %v\nresults: %v\n", mounts, links, addresses, cgroups(), namespaces(), results)
	for _, name := range kernelSettings {
		value, _ := os.ReadFile("/proc/sys/" + name) // not every kernel has each
		fmt.Fprintf(&b, "%s = %s", name, value)
	}
	return b.String()
}

type pod struct {
	Metadata struct{ Name string }
	Status   struct {
		Phase             string
		ContainerStatuses []struct {
			State struct {
				Terminated *struct{ ExitCode int }
			}
		}
	}
}

func (p pod) code() int {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			return c.State.Terminated.ExitCode
		}
	}
	return -1
}

func (n *Node) create(ctx context.Context, t *testing.T, name, image string, command ...string) {
	t.Helper()
	type object = map[string]any
	container := object{"name": "main", "image": image}
	if len(command) > 0 {
		container["command"] = command
	}
	err := n.Call(ctx, http.MethodPost, "/api/v1/namespaces/default/pods", object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name},
		"spec": object{"restartPolicy": "Never", "containers": []object{container}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func (n *Node) await(ctx context.Context, t *testing.T, name, phase string) (last pod) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := Watch(ctx, n, "/api/v1/namespaces/default/pods?fieldSelector=metadata.name="+name, func(_ string, p pod) bool {
		last = p
		return p.Status.Phase == phase
	})
	if err != nil {
		out, _ := n.Kubectl(context.WithoutCancel(ctx), "describe", "pod", name).CombinedOutput() // only for the message
		t.Fatalf("%s is not %s: %v\n%s", name, phase, err, out)
	}
	return last
}
