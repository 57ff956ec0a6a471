//go:build k8s

package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
)

// defaultStale is how long answers hold after the watch broke.
const defaultStale = 30 * time.Second

// Options configure Pods.
type Options struct {
	Namespace string
	City      string        // the city's UID: only its pods are seen
	Protocol  string        // and of these only the pods of this protocol
	Stale     time.Duration // how long answers hold after the watch broke; 0 = 30 s

	// Replaced reports whether Create replaces a pod at once although something may still run
	// in it. May be nil.
	Replaced func(*corev1.Pod) bool

	// Over reports whether the session of a running pod has ended: Create waits a moment
	// for the end of that pod and replaces it. May be nil.
	Over func(*corev1.Pod) bool

	// Back is called when the pods are watched again after a while without. May be nil.
	Back func()
}

// Pods are the session pods of one city. Safe for concurrent use.
type Pods struct {
	o        Options
	client   corev1client.PodInterface
	informer cache.SharedIndexInformer
	health   *health

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
}

// New returns the pods of a city. Run must be running for answers.
func New(client kubernetes.Interface, o Options) (*Pods, error) {
	if o.Stale == 0 {
		o.Stale = defaultStale
	}
	p := &Pods{o: o, client: client.CoreV1().Pods(o.Namespace), changed: make(chan struct{})}
	p.health = newHealth(p.announce, o.Back)
	selector, err := o.selector()
	if err != nil {
		return nil, err
	}
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, lo metav1.ListOptions) (apiruntime.Object, error) {
			lo.LabelSelector = selector
			return persist(ctx, p.health, func() (apiruntime.Object, error) { return p.client.List(ctx, lo) })
		},
		WatchFuncWithContext: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
			lo.LabelSelector = selector
			w, err := persist(ctx, p.health, func() (watch.Interface, error) { return p.client.Watch(ctx, lo) })
			if err != nil {
				return nil, err
			}
			return p.health.follow(w), nil
		},
	}, client)
	p.informer = cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
	if err := p.informer.SetTransform(slim); err != nil {
		return nil, err
	}
	// The default handler writes to standard error, and sleeps for all informers.
	err = p.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { p.health.failed(err) })
	if err != nil {
		return nil, err
	}
	_, err = p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { p.announce() },
		UpdateFunc: func(any, any) { p.announce() },
		DeleteFunc: func(any) { p.announce() },
	})
	return p, err
}

// selector selects the pods.
func (o Options) selector() (string, error) {
	op, values := selection.DoesNotExist, []string(nil)
	if o.Protocol != "" {
		op, values = selection.Equals, []string{o.Protocol}
	}
	protocol, err := labels.NewRequirement(names.LabelProtocol, op, values)
	if err != nil {
		return "", err
	}
	return labels.SelectorFromSet(names.CitySelector(o.City)).Add(*protocol).String(), nil
}

// slim drops what nobody here reads and is a third of a pod.
func slim(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
	}
	return object, nil
}

// Run watches the pods until ctx ends, again after each loss of the API server.
func (p *Pods) Run(ctx context.Context) { p.informer.RunWithContext(ctx) }

func (p *Pods) announce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

// Change returns a channel that is closed at the next change of a pod. Ask for it before
// what it is about.
func (p *Pods) Change() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// tell returns an ErrBackendUnreachable if the watch cannot answer.
func (p *Pods) tell() error {
	if !p.informer.HasSynced() || !p.health.began() {
		return p.health.why(fmt.Errorf("%w: the pods of namespace %s are not known yet", runtime.ErrBackendUnreachable, p.o.Namespace))
	}
	if away := p.health.away(); away >= p.o.Stale {
		return p.health.why(fmt.Errorf("%w: no news of pods for %d s", runtime.ErrBackendUnreachable, int(away.Seconds())))
	}
	return nil
}

// Again returns when the API server was last back after a loss; zero if it never was lost.
func (p *Pods) Again() time.Time {
	p.health.mu.Lock()
	defer p.health.mu.Unlock()
	return p.health.again
}

// Get returns a pod by its name, nil if there is none, without a request. The
// caller must not change it. ErrBackendUnreachable means: cannot tell.
func (p *Pods) Get(name string) (*corev1.Pod, error) {
	if err := p.tell(); err != nil {
		return nil, err
	}
	found, exists, err := p.informer.GetStore().GetByKey(p.o.Namespace + "/" + name)
	if err != nil || !exists {
		return nil, err
	}
	return found.(*corev1.Pod), nil
}

// List returns the city's pods in no order, as Get does.
func (p *Pods) List() ([]*corev1.Pod, error) {
	if err := p.tell(); err != nil {
		return nil, err
	}
	all := p.informer.GetStore().List()
	pods := make([]*corev1.Pod, len(all))
	for i, pod := range all {
		pods[i] = pod.(*corev1.Pod)
	}
	return pods, nil
}

// Await waits until done returns true for a pod, nil if there is none, and
// returns the pod. It asks again at each change. While the watch is broken it waits, unless
// the cluster forbids it.
func (p *Pods) Await(ctx context.Context, name string, done func(*corev1.Pod) bool) (*corev1.Pod, error) {
	for {
		change := p.Change() // before Get, so that no change is missed
		pod, err := p.Get(name)
		if err == nil && done(pod) {
			return pod, nil
		}
		if err != nil && (!errors.Is(err, runtime.ErrBackendUnreachable) || p.health.forbidden()) {
			return nil, err
		}
		// Nothing is announced when the last news become too old.
		var again <-chan time.Time
		if err != nil {
			again = time.After(time.Second)
		}
		select {
		case <-change:
		case <-again:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// Create creates a session's pod and returns it once Get knows it. ErrSessionExists
// if another pod of the name lives; one that has ended is replaced. On failure
// nothing is left behind.
func (p *Pods) Create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	created, err := p.client.Create(ctx, pod, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if err := p.removeEnded(ctx, pod.Name); err != nil {
			return nil, err
		}
		created, err = p.client.Create(ctx, pod, metav1.CreateOptions{})
	}
	if r := refused(err); r != nil {
		return nil, fmt.Errorf("create pod %s: %w", pod.Name, r)
	}
	if err != nil {
		return nil, failure("create", pod.Name, err)
	}
	_, err = p.Await(ctx, pod.Name, func(seen *corev1.Pod) bool { return seen != nil && seen.UID == created.UID })
	if err != nil {
		// ctx has ended: the deletion gets its own time.
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		return nil, errors.Join(err, p.request(after, created, 0))
	}
	return created, nil
}

// cleanUp is how long the deletion of a pod of a failed start may take.
const cleanUp = 10 * time.Second

// removeEnded removes the pod of a name if its agent has ended.
func (p *Pods) removeEnded(ctx context.Context, name string) error {
	// The API server is asked, not the watch: the pod may be newer.
	pod, err := p.client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return failure("get", name, err)
	}
	switch {
	case !podstate.Running(pod), p.o.Replaced != nil && p.o.Replaced(pod):
		return p.Delete(ctx, pod, 0)
	case p.o.Over == nil || !p.o.Over(pod):
		return runtime.ErrSessionExists
	}
	limited, cancel := context.WithTimeout(ctx, overLimit)
	defer cancel()
	_, _ = p.Await(limited, name, func(seen *corev1.Pod) bool { // then its container is asked to end
		return seen == nil || seen.UID != pod.UID || !podstate.Running(seen)
	})
	return p.Delete(ctx, pod, overGrace)
}

// Times of a pod whose session has ended: for its messages to be taken, and then for its
// first process.
const (
	overLimit = 5 * time.Second
	overGrace = 2 * time.Second
)

// Delete deletes this very pod, not a later one of its name, and waits until it
// is gone. Its processes get grace between TERM and KILL. nil if it is gone.
func (p *Pods) Delete(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	if err := p.request(ctx, pod, grace); err != nil {
		return err
	}
	_, err := p.Await(ctx, pod.Name, func(seen *corev1.Pod) bool { return seen == nil || seen.UID != pod.UID })
	return err
}

// DeleteLater is Delete without the wait for the end.
func (p *Pods) DeleteLater(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	return p.request(ctx, pod, grace)
}

// request asks for the deletion of a pod.
func (p *Pods) request(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	seconds := int64(grace.Round(time.Second).Seconds())
	err := p.client.Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &seconds,
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // gone, or of another UID
		return nil
	}
	return failure("delete", pod.Name, err)
}

// Annotate sets annotations of this very pod; nil removes one. It returns the pod
// as it is then. ErrSessionNotFound if the pod is gone.
func (p *Pods) Annotate(ctx context.Context, pod *corev1.Pod, annotations map[string]*string) (*corev1.Pod, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": annotations}})
	if err != nil {
		return nil, err
	}
	patched, err := p.client.Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ofOtherUID(err) {
		return nil, runtime.ErrSessionNotFound
	}
	if err != nil {
		return nil, failure("annotate", pod.Name, err)
	}
	return patched, nil
}

// ofOtherUID reports whether a patch was refused because the pod has another UID,
// which a patch cannot change.
func ofOtherUID(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// failure maps an error of a request. What the API server refused stays as it
// is; without an answer of substance the backend is unreachable.
func failure(verb, name string, err error) error {
	if apierrors.IsAlreadyExists(err) {
		return runtime.ErrSessionExists
	}
	var status apierrors.APIStatus
	answered := errors.As(err, &status) && !apierrors.IsInternalError(err) && !apierrors.IsServerTimeout(err) &&
		!apierrors.IsTimeout(err) && !apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err)
	if answered || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s pod %s: %w", verb, name, err)
	}
	return fmt.Errorf("%w: %s pod %s: %w", runtime.ErrBackendUnreachable, verb, name, err)
}
