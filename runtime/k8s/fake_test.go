//go:build k8s

package k8s

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podspec"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
	"gascity.dev/gc/runtime/k8s/internal/stream"
	"gascity.dev/gc/runtime/k8s/settings"
)

// fakeCluster has the pods of sessions of the city c1, and fails requests on demand.
type fakeCluster struct {
	*fake.Clientset
	p     *Provider
	down  atomic.Bool              // no watch is accepted
	watch chan watch.Interface     // those that were
	fails map[string]*atomic.Int64 // by verb: how many more requests about pods fail
}

func newFake(t *testing.T, pods ...*corev1.Pod) *fakeCluster {
	t.Helper()
	c := &fakeCluster{fails: map[string]*atomic.Int64{"patch": {}, "delete": {}}}
	objects := []apiruntime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", UID: "n"}}}
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	c.Clientset = fake.NewClientset(objects...)
	for verb, left := range c.fails {
		c.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
			return left.Add(-1) >= 0, nil, errors.New("connection reset by peer")
		})
	}
	c.watch = make(chan watch.Interface, 100)
	watched := make(chan struct{}, 100)
	c.PrependWatchReactor("pods", func(a clienttesting.Action) (bool, watch.Interface, error) {
		if c.down.Load() {
			return true, nil, errors.New("connection refused")
		}
		w, err := c.Tracker().Watch(a.GetResource(), a.GetNamespace())
		if err == nil {
			c.watch <- w
			watched <- struct{}{}
		}
		return true, w, err
	})
	nobody := &rest.Config{Host: "http://127.0.0.1:1"} // no stream to a pod is opened
	client, err := kubernetes.NewForConfig(nobody)
	if err != nil {
		t.Fatal(err)
	}
	c.p, err = newProvider(Options{
		City:    func() (string, bool) { return "c1", true },
		Stale:   time.Second,
		Cluster: settings.Settings{Namespace: "ns", Image: "box"}.Resolve(func(string) string { return "" }),
	}, stream.New(nobody, client), c.Clientset)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.p.Close() })
	if there, err := c.p.known(t.Context()); !there {
		t.Fatal(err)
	}
	<-watched // the fake forgets what changes between a list and the watch
	return c
}

// fakePod is the pod of a session in this phase.
func fakePod(session string, phase corev1.PodPhase) *corev1.Pod {
	of := names.Session{City: "c1", Name: session, Incarnation: "i"}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: names.Pod("c1", session), Namespace: "ns", UID: types.UID("uid-" + session),
			Labels: of.Labels(), Annotations: map[string]string{names.AnnotationSession: session, names.AnnotationStarted: "id"},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	if phase != corev1.PodRunning {
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: podspec.Container, State: state}}
	return pod
}

// left returns the sessions of the pods that the cluster has.
func (c *fakeCluster) left(t *testing.T) (sessions []string) {
	t.Helper()
	list, err := c.CoreV1().Pods("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		sessions = append(sessions, pod.Annotations[names.AnnotationSession])
	}
	slices.Sort(sessions)
	return sessions
}

// becomes waits until the cluster has the pods of just these sessions.
func (c *fakeCluster) becomes(t *testing.T, want ...string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); !slices.Equal(c.left(t), want); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("pods of %q are left", c.left(t))
		}
	}
}

// A request that fails once leaves no pod of a session that was stopped.
func TestDiscardOnceFailed(t *testing.T) {
	for _, verb := range []string{"patch", "delete"} {
		pod := fakePod("a", corev1.PodFailed)
		c := newFake(t, pod)
		c.fails[verb].Store(1)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := c.p.discard(ctx, pod, 0); err != nil {
			t.Errorf("%s fails once: %v", verb, err)
		}
		c.becomes(t)
	}
}

// With the end of its last session a city leaves no pods: neither of agents that ended by
// themselves, nor those whose deletion was lost.
func TestTeardown(t *testing.T) {
	stopped := fakePod("stopped", corev1.PodFailed)
	stopped.Annotations[names.AnnotationStopped] = "now"
	if !podstate.Stopped(stopped) {
		t.Fatal("not stopped")
	}
	alive := newFake(t, fakePod("alive", corev1.PodRunning), fakePod("crashed", corev1.PodFailed))
	if err := alive.p.TeardownServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := alive.left(t); !slices.Equal(left, []string{"alive", "crashed"}) {
		t.Errorf("while a session runs: %q", left)
	}
	c := newFake(t, fakePod("crashed", corev1.PodFailed), fakePod("done", corev1.PodSucceeded), stopped)
	c.fails["delete"].Store(1)
	if err := c.p.TeardownServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.becomes(t)
}

// A session that ended in a pod that stays for its messages does not run, until it is
// relaunched there.
func TestEndedInARunningPod(t *testing.T) {
	pod := fakePod("a", corev1.PodRunning)
	c := newFake(t, pod)
	runs := func(want bool) {
		t.Helper()
		if got, err := c.p.IsRunning(t.Context(), "a"); got != want || err != nil {
			t.Errorf("IsRunning: %v, %v", got, err)
		}
		if list, err := c.p.ListRunning(t.Context(), ""); slices.Contains(list, "a") != want || err != nil {
			t.Errorf("ListRunning: %q, %v", list, err)
		}
	}
	runs(true)
	b, err := c.p.box(pod)
	if err != nil {
		t.Fatal(err)
	}
	b.note(runtime.Event{Kind: runtime.EventExited, Session: "another"})
	runs(true)
	b.note(runtime.Event{Kind: runtime.EventExited, Session: "a"})
	runs(false)
	b.note(runtime.Event{Kind: runtime.EventStarted, Session: "a"})
	runs(true)
}

// A session on a node that does not answer is unknown beside others that run; where the
// settings say so, it has ended, and not by itself.
func TestLostNode(t *testing.T) {
	stays, moves := fakePod("stays", corev1.PodRunning), fakePod("moves", corev1.PodRunning)
	moves.Annotations[names.AnnotationNodeLoss] = settings.NodeLossReplace
	for _, pod := range []*corev1.Pod{stays, moves} {
		pod.Spec.NodeName = "n1"
		pod.Status.ContainerStatuses[0].Ready = true
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	}
	p := newFake(t, stays, moves, fakePod("other", corev1.PodRunning)).p
	list, err := p.ListRunning(t.Context(), "")
	if !slices.Equal(list, []string{"other"}) || !errors.Is(err, runtime.ErrListIncomplete) {
		t.Errorf("ListRunning: %q, %v", list, err)
	}
	if running, err := p.IsRunning(t.Context(), "stays"); running || !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("stays: %v, %v", running, err)
	}
	if running, err := p.IsRunning(t.Context(), "moves"); running || err != nil {
		t.Errorf("moves: %v, %v", running, err)
	}
	if e, err := p.LastExit(t.Context(), "moves"); err != nil || e == nil || !e.Disrupted || e.Reason != "node n1 does not answer" {
		t.Errorf("moves: %+v, %v", e, err)
	}
}

// The pod of a start whose process has ended on this machine is no session; of others nothing
// is known.
func TestAbandonedStart(t *testing.T) {
	for name, tt := range map[string]struct {
		starter string
		running bool
	}{
		"alive":         {starter(), true},
		"ended":         {starter() + "1", false}, // an earlier process of the same number
		"other machine": {"x" + starter() + "1", true},
		"unknown":       {"", true},
		"another form":  {"1 2", true},
	} {
		pod := fakePod("a", corev1.PodRunning)
		delete(pod.Annotations, names.AnnotationStarted)
		pod.Annotations[names.AnnotationStarter] = tt.starter
		p := newFake(t, pod).p
		if running, err := p.IsRunning(t.Context(), "a"); running != tt.running || err != nil {
			t.Errorf("%s: %v, %v", name, running, err)
		}
		if err := p.Stop(t.Context(), "a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Events end when nothing is known of the pods any more, so that it shows at once.
func TestEventsOfALostCluster(t *testing.T) {
	c := newFake(t, fakePod("a", corev1.PodFailed))
	events, err := c.p.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.down.Store(true)
	(<-c.watch).Stop()
	for {
		select {
		case e, open := <-events:
			if open {
				t.Errorf("%+v", e)
				continue
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the events go on")
		}
		break
	}
	if _, err := c.p.Events(t.Context()); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("again: %v", err)
	}
}
