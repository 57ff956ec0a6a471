//go:build k8s

package k8s

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/many"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podspec"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
	"gascity.dev/gc/runtime/k8s/internal/stream"
	"gascity.dev/gc/runtime/native"
)

// box is a pod with its held stream, which is opened on first use.
type box struct {
	*far.Client
	p    *Provider
	pod  string // its name
	name string // of the session
	uid  types.UID
	link *link.Link

	native *native.Provider
	host   runtime.Provider // of the session: native, or ACP over it
	over   atomic.Bool      // its multiplexer said that the session has ended; the pod may wait for its outbox

	mu      sync.Mutex
	created func() // called when the session was made; nil outside a start
}

var _ native.Machine = (*box)(nil)

// box returns the box of a pod.
func (p *Provider) box(pod *corev1.Pod) (*box, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.boxes[pod.UID]; b != nil {
		return b, nil
	}
	b := &box{p: p, pod: pod.Name, name: pod.Annotations[names.AnnotationSession], uid: pod.UID}
	name := "pod " + pod.Name
	b.link = link.New(name, b.open, many.Hello{Version: p.o.Version, OS: goruntime.GOOS, Arch: goruntime.GOARCH})
	b.Client = far.NewClient(name, b.link)
	var err error
	b.native, err = native.New(native.Options{
		Version: p.o.Version, Machine: b, MakeWorkDir: p.o.MakeWorkDir,
		StopGrace: p.o.StopGrace, Limits: p.o.Limits, Report: b.report,
	})
	if err != nil {
		return nil, err
	}
	if b.host, err = p.over(b.native, b.Client); err != nil {
		return nil, err
	}
	p.boxes[pod.UID] = b
	return b, nil
}

// Held returns the streams to the pods of running sessions, by session; one that nobody
// used yet is not open. The channel is closed at the next change.
func (p *Provider) Held() (streams map[string]*link.Link, changed <-chan struct{}) {
	if !p.ready.Load() || p.elsewhere.Load() != nil {
		return nil, soon()
	}
	changed = p.pods.Change()
	all, err := p.pods.List()
	for _, pod := range all {
		if podstate.Running(pod) && podstate.Started(pod) && !p.replaced(pod) && err == nil {
			_, err = p.box(pod)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	streams = make(map[string]*link.Link, len(p.boxes))
	for _, b := range p.boxes { // also those that were held before the cluster was lost
		streams[b.name] = b.link
	}
	return streams, changed
}

// soon returns a channel that is closed after a while: nothing else tells when the pods
// are known.
func soon() <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(time.Second, func() { close(c) })
	return c
}

// note takes over what the multiplexer reports of the session.
func (b *box) note(e runtime.Event) {
	if e.Session != b.name {
		return
	}
	switch e.Kind {
	case runtime.EventStarted: // also a relaunch
		b.over.Store(false)
	case runtime.EventExited:
		b.over.Store(ended(e.Exit))
	}
}

// observe asks for what note missed.
func (b *box) observe(ctx context.Context) {
	if running, err := b.native.IsRunning(ctx, b.name); err == nil {
		exit, _ := b.native.LastExit(ctx, b.name) // nil: unknown
		b.over.Store(!running && ended(exit))
	}
}

// ended reports whether an exit is for good. What was stopped is made again by a relaunch, or
// its pod ends, and the cluster says why.
func ended(exit *runtime.Exit) bool { return exit == nil || exit.Reason != runtime.ReasonStopped }

// runs reports whether the session of a pod runs. The pod of one that has ended may stay until
// the city took its messages.
func (p *Provider) runs(pod *corev1.Pod) bool {
	return podstate.Running(pod) && !p.ended(pod) && !p.replaced(pod)
}

// ended reports whether the multiplexer of a pod said that its session has ended.
func (p *Provider) ended(pod *corev1.Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.boxes[pod.UID]
	return b != nil && b.over.Load()
}

// close ends the stream.
func (b *box) close() {
	b.native.Close()
	b.link.Close()
}

// release gives up a pod whose start failed, and closes its stream.
func (p *Provider) release(pod *corev1.Pod) {
	p.mu.Lock()
	b := p.boxes[pod.UID]
	delete(p.boxes, pod.UID)
	p.released[pod.UID] = true
	p.mu.Unlock()
	if b != nil {
		b.close()
	}
}

// report passes a step on.
func (b *box) report(s runtime.Step) {
	if s.Name == runtime.StepCreate && s.Err == nil {
		b.mu.Lock()
		created := b.created
		b.mu.Unlock()
		if created != nil {
			created()
		}
	}
	if b.p.o.Report != nil {
		b.p.o.Report(s)
	}
}

// errEnded is why no stream to a pod is opened any more.
var errEnded = errors.New("the pod has ended")

// open implements link.Opener.
func (b *box) open(ctx context.Context) (io.ReadWriteCloser, error) {
	if b.ended() {
		return nil, errEnded
	}
	return b.p.streams.Open(ctx, stream.Target{
		Namespace: b.p.o.Cluster.Namespace, Pod: b.pod, Container: podspec.Container,
		Command: []string{podspec.Program, "mux", "dial", "--many"},
	})
}

// ended reports whether the pod is known to have ended.
func (b *box) ended() bool {
	pod, err := b.p.pods.Get(b.pod)
	return err == nil && (pod == nil || pod.UID != b.uid || !podstate.Running(pod))
}

// Times of a pod's end.
const (
	fresh   = 5 * time.Second // a stream that was lost so recently may have been lost to the end of the pod
	endNews = 3 * time.Second // for the cluster to say so
)

// Mux implements native.Machine. The multiplexer is never started: the pod's first process
// does that. A pod that has ended has none.
func (b *box) Mux(ctx context.Context, _ bool) (net.Conn, error) {
	conn, err := b.Client.Mux(ctx, false)
	if err == nil || !errors.Is(err, api.ErrUnreachable) {
		return conn, err
	}
	if b.endedSoon(ctx) {
		return nil, fmt.Errorf("%w: %w", api.ErrNoServer, errEnded)
	}
	return conn, err
}

// endedSoon is ended, but waits a moment if the stream was lost just now: with the end of
// a pod its stream is cut first.
func (b *box) endedSoon(ctx context.Context) bool {
	if s := b.link.State(); s.Is != link.Away || time.Since(s.Since) > fresh {
		return b.ended()
	}
	ctx, cancel := context.WithTimeout(ctx, endNews)
	defer cancel()
	up, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // the stream may come back first
		for s := range b.link.Changes(up) {
			if s.Is == link.Up {
				stop()
			}
		}
	}()
	_, err := b.p.pods.Await(up, b.pod, func(pod *corev1.Pod) bool { return pod == nil || pod.UID != b.uid || !podstate.Running(pod) })
	return err == nil
}

// tidy closes the streams of pods that have ended, and notes whose the pods are.
func (p *Provider) tidy() {
	for {
		change := p.pods.Change()
		p.locate()
		var over []*box
		p.mu.Lock()
		for uid, b := range p.boxes {
			if b.ended() {
				over = append(over, b)
				delete(p.boxes, uid)
			}
		}
		p.mu.Unlock()
		for _, b := range over {
			p.running.Go(b.close)
		}
		select {
		case <-change:
		case <-p.life.Done():
			return
		}
	}
}

// nowhere is the machine of sessions that do not exist.
type nowhere struct{}

var _ native.Machine = nowhere{}

// String implements native.Machine.
func (nowhere) String() string { return "no pod" }

// Mux implements native.Machine.
func (nowhere) Mux(context.Context, bool) (net.Conn, error) { return nil, api.ErrNoServer }

// Environ implements native.Machine.
func (nowhere) Environ(context.Context, []string) ([]string, error) { return nil, api.ErrNoServer }

// Run implements native.Machine.
func (nowhere) Run(context.Context, spawn.Command) (int, error) { return 0, api.ErrNoServer }

// Stage implements native.Machine.
func (nowhere) Stage(context.Context, string, staging.Plan) error { return api.ErrNoServer }

// Dir implements native.Machine.
func (nowhere) Dir(context.Context, string, bool) (string, error) { return "", api.ErrNoServer }

// Program implements native.Machine.
func (nowhere) Program(context.Context, int, string) (map[string]string, error) {
	return nil, api.ErrNoServer
}

// Roots implements native.Machine.
func (nowhere) Roots(context.Context, string) ([]proctree.Root, error) { return nil, nil }

// End implements native.Machine.
func (nowhere) End(context.Context, int, uint64, string, time.Duration) error { return nil }

// Boot implements native.Machine.
func (nowhere) Boot(context.Context) (string, error) { return "", nil }

// Skew implements native.Machine.
func (nowhere) Skew(context.Context) (time.Duration, error) { return 0, nil }
