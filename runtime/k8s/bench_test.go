//go:build linux && k8s && e2e

package k8s_test

import (
	"context"
	"fmt"
	"net/http"
	goruntime "runtime"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gascity.dev/gc/internal/testenv/k8snode"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podspec"
)

// Limits of the benchmark, for a machine with nothing else to do.
const (
	callLimit   = 5 * time.Millisecond
	statusLimit = 50 * time.Millisecond
	podLimit    = 30 << 10  // bytes of memory for a pod without a stream
	streamLimit = 250 << 10 // and with one
	fleet       = 300
	streams     = 10
)

// BenchmarkPods measures a call over a held stream beside an exec for each call, the memory
// of streams, and the status of many pods without a request.
func BenchmarkPods(b *testing.B) {
	n, ctx := k8snode.Run(b, 30*time.Minute)
	c := newCluster(ctx, b, n)
	b.Run("Call", c.benchCall)
	b.Run("Streams", c.benchStreams)
	b.Run("Status300", c.benchStatus)
}

func (c *cluster) benchCall(b *testing.B) {
	p := provider(b, c.settings(strict, boxImage), "bench", nil)
	begin := time.Now()
	if err := p.Start(b.Context(), "a", runtime.Config{Command: "echo ready; exec cat"}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Stop(context.Background(), "a") })
	for {
		if text, err := p.Peek(b.Context(), "a", 1); err == nil && text == "ready" {
			break
		}
	}
	first := time.Since(begin)
	held := median(b, 300, func() error { _, err := p.Peek(b.Context(), "a", 1); return err })
	list, err := c.Kubectl(b.Context(), "-n", strict, "get", "pods", "-l", "gascity.dev/city=bench", "-o", "name").Output()
	if err != nil {
		b.Fatal(err)
	}
	pod := string(list[:len(list)-1])
	exec := median(b, 7, func() error { return c.Kubectl(b.Context(), "-n", strict, "exec", pod, "--", "true").Run() })
	b.ReportMetric(float64(held.Microseconds())/1e3, "ms/call")
	b.ReportMetric(float64(exec.Microseconds())/1e3, "ms/kubectl-exec")
	b.ReportMetric(float64(exec)/float64(held), "times-faster")
	b.ReportMetric(first.Seconds(), "s/first-output")
	b.ReportMetric(0, "ns/op")
	if held > callLimit {
		b.Errorf("a call over the held stream takes %v, more than %v", held, callLimit)
	}
}

// benchStreams measures what a pod with its stream held costs, beyond the first one.
func (c *cluster) benchStreams(b *testing.B) {
	p := provider(b, c.settings(strict, boxImage), "streams", nil)
	hold := func(i int) {
		if err := p.Start(b.Context(), name(i), runtime.Config{Command: "echo ready; exec cat"}); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = p.Stop(context.Background(), name(i)) })
		if err := p.SendKeys(b.Context(), name(i), "x"); err != nil {
			b.Fatal(err)
		}
	}
	hold(0)
	before := inUse()
	for i := range streams {
		hold(1 + i)
	}
	memory := int64(inUse()-before) / streams
	b.ReportMetric(float64(memory)/1024, "KiB/stream")
	b.ReportMetric(0, "ns/op")
	if memory > streamLimit {
		b.Errorf("%d bytes a pod with its stream; the limit is %d", memory, streamLimit)
	}
}

// median calls f n times.
func median(b *testing.B, n int, f func() error) time.Duration {
	b.Helper()
	all := make([]time.Duration, n)
	for i := range all {
		begin := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		all[i] = time.Since(begin)
	}
	slices.Sort(all)
	return all[n/2]
}

// benchStatus asks for the state of every pod while the API server answers nothing.
func (c *cluster) benchStatus(b *testing.B) {
	s := c.settings(strict, boxImage)
	for i := range fleet {
		pod, err := podspec.Build(podspec.Spec{
			Session: names.Session{City: "many", Name: name(i), Incarnation: "i"}, Settings: s, Args: []string{"pod-run"},
		})
		if err != nil {
			b.Fatal(err)
		}
		pod.Spec.SchedulerName = "nobody"
		pod.Annotations[names.AnnotationStarted] = "id"
		at := "/api/v1/namespaces/" + strict + "/pods"
		if err := c.Call(b.Context(), http.MethodPost, at, pod, nil); err != nil {
			b.Fatal(err)
		}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: podspec.Container, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}
		err = c.Call(b.Context(), http.MethodPut, at+"/"+pod.Name+"/status", pod, nil)
		if err != nil {
			b.Fatal(err)
		}
	}
	before := heap()
	p := provider(b, s, "many", func(o *k8s.Options) { o.Stale = time.Minute })
	if list, err := p.ListRunning(b.Context(), ""); len(list) != fleet || err != nil {
		b.Fatal(len(list), err)
	}
	memory := (heap() - before) / fleet
	resume, err := c.Pause(k8snode.APIServer)
	if err != nil {
		b.Fatal(err)
	}
	defer resume()
	status := median(b, 20, func() error {
		if list, err := p.ListRunning(b.Context(), ""); len(list) != fleet || err != nil {
			return fmt.Errorf("%d, %w", len(list), err)
		}
		for i := range fleet {
			if running, err := p.IsRunning(b.Context(), name(i)); !running || err != nil {
				return fmt.Errorf("%v, %w", running, err)
			}
			if _, err := p.GetMeta(b.Context(), name(i), "k"); err != nil {
				return err
			}
		}
		return nil
	})
	b.ReportMetric(float64(status.Microseconds())/1e3, "ms/status")
	b.ReportMetric(float64(memory)/1024, "KiB/pod")
	b.ReportMetric(0, "ns/op")
	if status > statusLimit || memory > podLimit {
		b.Errorf("%v for a status, and %d bytes a pod; the limits are %v and %d", status, memory, statusLimit, podLimit)
	}
}

func name(i int) string { return fmt.Sprintf("agent-%03d", i) }

// heap returns the bytes in use.
func heap() uint64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// inUse returns the bytes in use, with the stacks of goroutines.
func inUse() uint64 {
	h := heap()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return h + m.StackInuse
}
