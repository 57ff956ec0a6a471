//go:build k8s

package k8s

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
	"gascity.dev/gc/runtime/driver"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/pods"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
	"gascity.dev/gc/runtime/k8s/internal/stream"
	"gascity.dev/gc/runtime/k8s/settings"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/wrap"
)

// Options configure a Provider.
type Options struct {
	// City returns the city's UID: only its pods are seen. false: it has none yet, and so
	// no pods. It is asked until it has one.
	City    func() (uid string, ok bool)
	Cluster settings.Settings // resolved: cluster, namespace, and what happens on a lost node
	// Settings returns how the pod of a session is made, resolved and checked; nil: as
	// Cluster says. The namespace is always that of Cluster.
	Settings    func(session string, cfg runtime.Config) (settings.Settings, error)
	MakeWorkDir bool // make a work dir that does not exist

	// Host is the machine of the city's controller: its name, and after a slash what identifies
	// it if there is such a thing. Pods that another machine started are left alone, see
	// Elsewhere. "": of every machine.
	Host string

	// Pin is a file that remembers the cluster: once it has one, another cluster is
	// refused. "": none is remembered.
	Pin string

	// ACP: the agents speak the Agent Client Protocol. Pods of agents that do, and of those
	// that do not, are not seen by each other's provider.
	ACP bool

	Version       string             // of this gc
	StopGrace     time.Duration      // between TERM and KILL; 0 = 5 s
	Limits        driver.Limits      // of the start sequence
	ScheduleLimit time.Duration      // how long a pod may be unschedulable; 0 = 5 min
	Stale         time.Duration      // how long answers hold after the watch broke; 0 = 30 s
	FirstAnswer   time.Duration      // how long a question waits for the first list of pods; 0 = 8 s
	Report        func(runtime.Step) // of every step of every start; may be nil
}

// Defaults of Options.
const (
	defaultGrace         = 5 * time.Second
	defaultScheduleLimit = 5 * time.Minute
	defaultFirstAnswer   = 8 * time.Second
)

// Provider implements runtime.Provider. Safe for concurrent use.
type Provider struct {
	wrap.Forward // what a session's own multiplexer answers

	o       Options
	client  kubernetes.Interface
	streams *stream.Dialer
	pin     pin
	starts  driver.Starts
	none    *native.Provider // over a machine without a multiplexer
	absent  runtime.Provider // that of a session there, which does not exist

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	ready     atomic.Bool // the pods were known once: then city and pods are set, and constant
	city      string
	pods      *pods.Pods
	elsewhere atomic.Pointer[Elsewhere] // nil: no pod belongs to another machine

	mu    sync.Mutex
	first *attempt           // the latest, to know the pods for the first time
	boxes map[types.UID]*box // of pods whose stream is, or was, in use

	released map[types.UID]bool // pods of failed starts that could not be deleted
}

var (
	_ runtime.Provider                = (*Provider)(nil)
	_ runtime.Forwarder               = (*Provider)(nil)
	_ runtime.EventSource             = (*Provider)(nil)
	_ runtime.ManyActivities          = (*Provider)(nil)
	_ runtime.ManyProcesses           = (*Provider)(nil)
	_ runtime.ProcessTableScanner     = (*Provider)(nil)
	_ runtime.ServerLifecycleProvider = (*Provider)(nil)
	_ io.Closer                       = (*Provider)(nil)
)

// New returns a provider, which watches the city's pods from its first use on; Close ends
// that. It fails if the cluster's address or credentials cannot be read. It asks the cluster
// nothing.
func New(o Options) (*Provider, error) {
	config, err := restConfig(o.Cluster)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "gc-k8s/" + o.Version
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return newProvider(o, stream.New(config, client), client)
}

// newProvider returns a provider over a client, which is a fake in tests.
func newProvider(o Options, streams *stream.Dialer, client kubernetes.Interface) (*Provider, error) {
	if o.StopGrace <= 0 {
		o.StopGrace = defaultGrace
	}
	if o.ScheduleLimit <= 0 {
		o.ScheduleLimit = defaultScheduleLimit
	}
	if o.FirstAnswer <= 0 {
		o.FirstAnswer = defaultFirstAnswer
	}
	none, err := native.New(native.Options{Machine: nowhere{}})
	if err != nil {
		return nil, err
	}
	p := &Provider{
		o: o, client: client, streams: streams, none: none,
		pin: pin{file: o.Pin, namespace: o.Cluster.Namespace, client: client}, boxes: map[types.UID]*box{}, released: map[types.UID]bool{},
	}
	if p.absent, err = p.over(none, nowhere{}); err != nil {
		return nil, err
	}
	p.Forward.Send = p.send
	p.life, p.end = context.WithCancel(klog.NewContext(context.Background(), klog.Logger{})) // client-go prints nothing
	return p, nil
}

// restConfig finds the cluster: the settings' own, else the one that this process runs in,
// else kubectl's.
func restConfig(s settings.Settings) (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if s.Kubeconfig != "" || s.Context != "" || err != nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = s.Kubeconfig
		rules.WarnIfAllMissing = false
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context}).ClientConfig()
	}
	if err != nil {
		return nil, &noCluster{err}
	}
	config.QPS, config.Burst = 50, 100 // the API server limits us, not client-go
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// noCluster is why no cluster is known.
type noCluster struct{ err error }

// Error is one line.
func (e *noCluster) Error() string {
	if clientcmd.IsEmptyConfig(e.err) {
		return "kubernetes: no cluster is configured"
	}
	return "kubernetes: " + strings.Join(strings.Fields(e.err.Error()), " ")
}

// Hint is the next step.
func (e *noCluster) Hint() string {
	if strings.HasPrefix(e.err.Error(), "context ") { // client-go has no error for it
		return "kubectl config get-contexts lists the contexts"
	}
	return "set kubeconfig in [session.k8s], or KUBECONFIG; gc doctor k8s checks it"
}

// Unwrap returns the reason.
func (e *noCluster) Unwrap() error { return e.err }

// Close ends the watch and the streams. The sessions keep running.
func (p *Provider) Close() error {
	p.end()
	p.running.Wait()
	p.mu.Lock()
	boxes := p.boxes
	p.boxes = map[types.UID]*box{}
	p.mu.Unlock()
	for _, b := range boxes {
		b.close()
	}
	return p.none.Close()
}

// Capabilities implements runtime.Provider.
func (p *Provider) Capabilities() runtime.Capabilities {
	c := runtime.Capabilities{
		Attach: true, AttachDetection: true, Activity: true, ExactPeek: true, Keys: true,
		DurableMeta: true, LastScreen: true, LastWords: true, ProcessTree: true, KeyModes: true, Exec: true, Relaunch: true, Ordered: true,
	}
	if !p.o.ACP {
		return c
	}
	c.Prompts = true
	c.Keys, c.KeyModes, c.ExactPeek, c.Relaunch = false, false, false, false
	return c
}

// Behind implements runtime.Forwarder: what the multiplexer of a session can do, and Held.
func (p *Provider) Behind() []runtime.Provider {
	if a, ok := p.absent.(*acp.Provider); ok {
		return []runtime.Provider{acpModel{a, p}}
	}
	return []runtime.Provider{model{p.none, p}}
}

// model has the interfaces that runtime.As finds on a Provider.
type model struct {
	*native.Provider
	p *Provider
}

// Held is that of the provider.
func (m model) Held() (map[string]*link.Link, <-chan struct{}) { return m.p.Held() }

// send passes a call on to the multiplexer of the session's pod.
func (p *Provider) send(ctx context.Context, c wrap.Call, do func(context.Context, runtime.Provider) error) error {
	pod, err := p.get(ctx, c.Session)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.Session, err)
	case pod == nil || !podstate.Running(pod) || p.replaced(pod):
		return do(ctx, p.absent)
	case !podstate.Started(pod):
		return fmt.Errorf("%s: %w", c.Session, initializing(pod))
	}
	b, err := p.box(pod)
	if err != nil {
		return err
	}
	return do(ctx, b.host)
}

// initializing says what a session's pod waits for.
func initializing(pod *corev1.Pod) error {
	if trouble := podstate.StartTrouble(pod); trouble != nil {
		return fmt.Errorf("%w: %w", runtime.ErrSessionInitializing, trouble)
	}
	return fmt.Errorf("%w: pod %s", runtime.ErrSessionInitializing, pod.Name)
}

// get returns the pod of a session, nil if there is none. It waits a while for the first
// answer of the cluster, and refuses another cluster than the city's.
func (p *Provider) get(ctx context.Context, session string) (*corev1.Pod, error) {
	if there, err := p.known(ctx); !there {
		return nil, err
	}
	pod, err := p.pods.Get(names.Pod(p.city, session))
	if err != nil || pod == nil || pod.Annotations[names.AnnotationSession] != session {
		return nil, err
	}
	return pod, nil
}

// list is get for all sessions.
func (p *Provider) list(ctx context.Context) ([]*corev1.Pod, error) {
	if there, err := p.known(ctx); !there {
		return nil, err
	}
	return p.pods.List()
}

// askAgain is how long the failure of an attempt to know the pods answers every question: a
// cluster that hangs delays the first of many, not each.
const askAgain = 2 * time.Second

// attempt is one to know the pods for the first time.
type attempt struct {
	done chan struct{} // closed at the end; then err and at are constant
	err  error
	at   time.Time
}

// known waits until the pods are known for the first time. It reports false without an
// error for a city that has no pods.
func (p *Provider) known(ctx context.Context) (bool, error) {
	if p.ready.Load() {
		return p.ours() // pods themselves say when they are not known any more
	}
	if there, err := p.watch(); !there {
		return false, err
	}
	a := p.attempt()
	select {
	case <-a.done:
		if a.err != nil {
			return false, a.err
		}
		return p.ours()
	case <-ctx.Done():
		return false, fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, ctx.Err())
	}
}

// ours reports whether the pods may be touched from this machine.
func (p *Provider) ours() (bool, error) {
	if e := p.elsewhere.Load(); e != nil {
		return false, e
	}
	return true, nil
}

// attempt returns the one under way, or one that ended a moment ago, else a new one.
func (p *Provider) attempt() *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.first; a != nil {
		select {
		case <-a.done:
			if a.err == nil || time.Since(a.at) < askAgain {
				return a
			}
		default:
			return a
		}
	}
	a := &attempt{done: make(chan struct{})}
	p.first = a
	p.running.Go(func() {
		defer close(a.done)
		a.err = p.know()
		a.at = time.Now()
	})
	return a
}

// know waits for the first list of pods, of the city's own cluster.
func (p *Provider) know() error {
	ctx, cancel := context.WithTimeout(p.life, p.o.FirstAnswer)
	defer cancel()
	if err := p.pin.check(ctx); err != nil {
		return err
	}
	_, err := p.pods.Await(ctx, "", func(*corev1.Pod) bool { return true })
	switch {
	case err == nil:
		p.locate()
		p.ready.Store(true)
	case !errors.Is(err, runtime.ErrBackendUnreachable):
		err = fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, err)
	}
	return err
}

// watch begins to watch the pods, once the city has a UID.
func (p *Provider) watch() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pods != nil {
		return true, nil
	}
	city, ok := p.o.City()
	if !ok || p.life.Err() != nil {
		return false, p.life.Err()
	}
	watched, err := pods.New(p.client, pods.Options{Namespace: p.o.Cluster.Namespace, City: city, Protocol: p.protocol(), Stale: p.o.Stale, Replaced: p.replaced, Over: p.ended, Back: p.again})
	if err != nil {
		return false, err
	}
	p.city, p.pods = city, watched
	p.running.Go(func() { p.pods.Run(p.life) })
	p.running.Go(p.tidy)
	return true, nil
}

// again makes the streams that are away try at once: the cluster answers again.
func (p *Provider) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.boxes {
		b.link.Again()
	}
}

// IsRunning implements runtime.Provider. It makes no request. A session on a node that does
// not answer is neither running nor gone, unless it is to be replaced.
func (p *Provider) IsRunning(ctx context.Context, name string) (bool, error) {
	pod, err := p.get(ctx, name)
	running := err == nil && pod != nil && p.runs(pod)
	if running && p.lost(pod) {
		err = lost(pod)
	}
	if err != nil {
		return false, fmt.Errorf("state of %s: %w", name, err)
	}
	return running, nil
}

// ListRunning implements runtime.Provider. It makes no request. Sessions on a node that does
// not answer are unknown.
func (p *Provider) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	all, err := p.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var list []string
	for _, pod := range all {
		name := pod.Annotations[names.AnnotationSession]
		switch {
		case !p.runs(pod) || !strings.HasPrefix(name, prefix):
		case p.lost(pod):
			err = fmt.Errorf("list sessions: %w: %w", runtime.ErrListIncomplete, lost(pod))
		default:
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list, err
}
