//go:build k8s

package pods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
)

// cluster is client-go's fake, which gives every pod a UID as a cluster does, and
// whose watches a test can cut.
type cluster struct {
	*fake.Clientset
	uids    atomic.Int64
	down    atomic.Bool // no requests of the watch succeed
	back    atomic.Int64
	denied  atomic.Bool // watches are forbidden
	watches chan watch.Interface
}

func newCluster() *cluster {
	c := &cluster{Clientset: fake.NewClientset(), watches: make(chan watch.Interface, 100)}
	c.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, apiruntime.Object, error) {
		pod := a.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		pod.UID = types.UID(fmt.Sprint("uid-", c.uids.Add(1)))
		return false, nil, nil
	})
	c.PrependReactor("list", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		return c.down.Load(), nil, errors.New("connection refused")
	})
	c.PrependReactor("delete", "pods", func(a clienttesting.Action) (bool, apiruntime.Object, error) {
		d := a.(clienttesting.DeleteActionImpl)
		pod, err := c.Tracker().Get(podResource, d.Namespace, d.Name)
		if err != nil {
			return true, nil, err
		}
		if p := d.DeleteOptions.Preconditions; p == nil || *p.UID != pod.(*corev1.Pod).UID {
			return true, nil, apierrors.NewConflict(podResource.GroupResource(), d.Name, errors.New("other UID"))
		}
		return false, nil, nil
	})
	c.PrependWatchReactor("pods", func(a clienttesting.Action) (bool, watch.Interface, error) {
		if c.down.Load() {
			return true, nil, errors.New("connection refused")
		}
		if c.denied.Load() {
			return true, nil, apierrors.NewForbidden(podResource.GroupResource(), "", errors.New(`cannot watch resource "pods"`))
		}
		w, err := c.Tracker().Watch(podResource, a.GetNamespace())
		if err == nil {
			c.watches <- w
		}
		return true, w, err
	})
	return c
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// lose cuts the watch; further ones fail until down is false.
func (c *cluster) lose() {
	c.down.Store(true)
	for len(c.watches) > 0 {
		(<-c.watches).Stop()
	}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: names.CitySelector("c1")}}
}

// start watches a cluster in a bubble of synctest.
func start(t *testing.T, c *cluster) *Pods {
	t.Helper()
	p, err := New(c, Options{Namespace: "ns", City: "c1", Back: func() { c.back.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Get("x"); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Fatalf("before the first list: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	if _, err := p.Await(t.Context(), "x", func(pod *corev1.Pod) bool { return pod == nil }); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCreateIsTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, newCluster())
		created, err := p.Create(t.Context(), pod("a"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Get("a"); err != nil || got == nil || got.UID != created.UID {
			t.Errorf("after Create: %v, %v", got, err)
		}
		if _, err := p.Create(t.Context(), pod("a")); !errors.Is(err, runtime.ErrSessionExists) {
			t.Errorf("second Create: %v", err)
		}
		if all, err := p.List(); err != nil || len(all) != 1 {
			t.Errorf("%d pods, %v", len(all), err)
		}
	})
}

func TestAnEndedPodIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		p := start(t, c)
		first, err := p.Create(t.Context(), pod("a"))
		if err != nil {
			t.Fatal(err)
		}
		ended := first.DeepCopy()
		ended.Status.Phase = corev1.PodSucceeded
		if _, err := c.CoreV1().Pods("ns").UpdateStatus(t.Context(), ended, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		second, err := p.Create(t.Context(), pod("a"))
		if err != nil || second.UID == first.UID {
			t.Fatalf("%v, %v", second, err)
		}
	})
}

func TestDeleteMeansOnePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, newCluster())
		created, err := p.Create(t.Context(), pod("a"))
		if err != nil {
			t.Fatal(err)
		}
		earlier := created.DeepCopy()
		earlier.UID = "earlier"
		if err := p.Delete(t.Context(), earlier, 0); err != nil {
			t.Errorf("delete the earlier pod: %v", err)
		}
		if got, err := p.Get("a"); err != nil || got == nil {
			t.Fatalf("the later pod: %v, %v", got, err)
		}
		for range 2 { // the second finds nothing
			if err := p.Delete(t.Context(), created, 0); err != nil {
				t.Error(err)
			}
		}
		if got, err := p.Get("a"); err != nil || got != nil {
			t.Errorf("after Delete: %v, %v", got, err)
		}
	})
}

func TestABrokenWatchCannotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		p := start(t, c)
		if _, err := p.Create(t.Context(), pod("a")); err != nil {
			t.Fatal(err)
		}
		c.lose()
		time.Sleep(29 * time.Second)
		if got, err := p.Get("a"); err != nil || got == nil {
			t.Errorf("after 29 s: %v, %v", got, err)
		}
		time.Sleep(2 * time.Second)
		if got, err := p.Get("a"); !errors.Is(err, runtime.ErrBackendUnreachable) || got != nil {
			t.Errorf("after 31 s: %v, %v", got, err)
		} else if !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("the error does not say why: %v", err)
		}
		if all, err := p.List(); !errors.Is(err, runtime.ErrBackendUnreachable) || all != nil {
			t.Errorf("list after 31 s: %v, %v", all, err)
		}
		c.down.Store(false)
		if got, err := p.Await(t.Context(), "a", func(*corev1.Pod) bool { return true }); err != nil || got == nil {
			t.Errorf("when the API server is back: %v, %v", got, err)
		}
	})
}

// However long the API server was away, the pods are watched again soon after it is back,
// and that is told.
func TestTheWatchComesBackSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		p := start(t, c)
		for _, away := range []time.Duration{time.Minute, 10 * time.Minute} {
			c.lose()
			time.Sleep(away)
			c.down.Store(false)
			before, at := c.back.Load(), time.Now()
			if _, err := p.Await(t.Context(), "a", func(*corev1.Pod) bool { return true }); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(at); took > 10*time.Second || c.back.Load() != before+1 {
				t.Errorf("after %v: back after %v, told %d times", away, took, c.back.Load()-before)
			}
		}
	})
}

// A watch that is forbidden delays nobody, though the list is allowed; it is tried again.
func TestForbiddenWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.denied.Store(true)
		p, err := New(c, Options{Namespace: "ns", City: "c1"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		at := time.Now()
		_, err = p.Await(t.Context(), "a", func(*corev1.Pod) bool { return true })
		if !errors.Is(err, runtime.ErrBackendUnreachable) || !strings.Contains(err.Error(), "cannot watch") || time.Since(at) > time.Second {
			t.Errorf("%v after %v", err, time.Since(at))
		}
		time.Sleep(5 * time.Minute)
		c.denied.Store(false)
		time.Sleep(2 * lastPause)
		if _, err := p.Get("a"); err != nil {
			t.Errorf("once it is allowed: %v", err)
		}
	})
}

// A pod that Get would not find is not left behind.
func TestCreateWithoutAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		p := start(t, c)
		c.lose()
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.Create(ctx, pod("a")); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, runtime.ErrBackendUnreachable) {
			t.Errorf("%v", err)
		}
		if _, err := c.Tracker().Get(podResource, "ns", "a"); !apierrors.IsNotFound(err) {
			t.Errorf("the pod is there: %v", err)
		}
	})
}

func TestFailures(t *testing.T) {
	pods := podResource.GroupResource()
	for _, tt := range []struct {
		err         error
		unreachable bool
	}{
		{apierrors.NewForbidden(pods, "a", errors.New("no")), false},
		{apierrors.NewBadRequest("bad"), false},
		{apierrors.NewTooManyRequests("later", 1), true},
		{apierrors.NewInternalError(errors.New("etcd")), true},
		{apierrors.NewServiceUnavailable("starting"), true},
		{errors.New("connection refused"), true},
		{context.DeadlineExceeded, false},
	} {
		err := failure("create", "a", tt.err)
		if errors.Is(err, runtime.ErrBackendUnreachable) != tt.unreachable || !errors.Is(err, tt.err) {
			t.Errorf("%v: %v", tt.err, err)
		}
	}
}

// The pod of a session that has ended gets a moment to end by itself, and is then replaced;
// that of another stays.
func TestCreateAfterTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		over := false
		p := start(t, c)
		p.o.Over = func(*corev1.Pod) bool { return over }
		first, err := p.Create(t.Context(), pod("a"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Create(t.Context(), pod("a")); !errors.Is(err, runtime.ErrSessionExists) {
			t.Errorf("while it runs: %v", err)
		}
		over = true
		began := time.Now()
		second, err := p.Create(t.Context(), pod("a"))
		if err != nil || second.UID == first.UID {
			t.Fatalf("%v, %v", second, err)
		}
		if took := time.Since(began); took < overLimit {
			t.Errorf("replaced after %v", took)
		}
	})
}
