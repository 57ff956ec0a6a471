//go:build k8s

package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
)

// Times and sizes of a subscription.
const (
	eventBuffer  = 64
	feedsWait    = 3 * time.Second // for the feeds of pods that run already
	knownCheck   = time.Second     // between looks whether the pods are still known
	feedAgain    = time.Second     // between attempts to subscribe to a pod
	feedAgainMax = 30 * time.Second
)

// Events implements runtime.EventSource: the starts and ends that the cluster reports, and
// what each pod's multiplexer does.
func (p *Provider) Events(ctx context.Context) (<-chan runtime.Event, error) {
	if there, err := p.known(ctx); !there {
		return nil, fmt.Errorf("events: %w", cmp.Or(err, errNoCity))
	}
	s := &subscription{p: p, out: make(chan runtime.Event, eventBuffer), fed: make(chan fedEvent), pods: map[types.UID]*followed{}}
	change := p.pods.Change()
	all, err := p.pods.List()
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	var first sync.WaitGroup
	for _, pod := range all {
		f := &followed{name: pod.Annotations[names.AnnotationSession], started: podstate.Started(pod), ended: !podstate.Running(pod) || p.replaced(pod)}
		s.pods[pod.UID] = f
		if f.started && !f.ended {
			first.Add(1)
			s.follow(ctx, pod, f, sync.OnceFunc(first.Done))
		}
	}
	subscribed := make(chan struct{})
	go func() { first.Wait(); close(subscribed) }()
	go s.run(ctx, change)
	select {
	case <-subscribed:
	case <-time.After(feedsWait): // a pod that is not reached delays nobody
	case <-ctx.Done():
	}
	return s.out, nil
}

// subscription is one call of Events. Its run owns the pods.
type subscription struct {
	p     *Provider
	out   chan runtime.Event
	fed   chan fedEvent
	pods  map[types.UID]*followed
	feeds sync.WaitGroup
}

// followed is what was reported of a pod.
type followed struct {
	name           string
	started, ended bool
	stopped        bool               // its multiplexer said so: by a relaunch, a stop, or the end of the pod
	stop           context.CancelFunc // of its feed; nil: none
}

// fedEvent is one of a pod's multiplexer.
type fedEvent struct {
	uid types.UID
	runtime.Event
}

// run reports until ctx or the provider ends, or the pods are not known any more: who follows
// the events then asks, and says so.
func (s *subscription) run(ctx context.Context, change <-chan struct{}) {
	defer close(s.out)
	ctx, cancel := context.WithCancel(ctx)
	defer s.feeds.Wait()
	defer cancel()
	stop := context.AfterFunc(s.p.life, cancel)
	defer stop()
	known := time.NewTicker(knownCheck)
	defer known.Stop()
	for {
		select {
		case <-change:
			change = s.p.pods.Change()
			if !s.compare(ctx) {
				return
			}
		case e := <-s.fed:
			if f := s.pods[e.uid]; f != nil && !s.pass(ctx, e.uid, f, e.Event) {
				return
			}
		case <-known.C:
			if _, err := s.p.pods.Get(""); errors.Is(err, runtime.ErrBackendUnreachable) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// pass reports an event of a multiplexer. false: ctx has ended.
func (s *subscription) pass(ctx context.Context, uid types.UID, f *followed, e runtime.Event) bool {
	if e.Session != f.name {
		return true // a background command
	}
	switch e.Kind {
	case runtime.EventStarted: // a relaunch
		f.ended, f.stopped = false, false
	case runtime.EventExited:
		if f.ended {
			return true
		}
		f.ended, f.stopped = true, !ended(e.Exit)
		if pod, err := s.p.pods.Get(names.Pod(s.p.city, f.name)); err == nil && pod != nil && pod.UID == uid {
			e.Exit = explained(pod, e.Exit)
		}
	}
	return s.send(ctx, e)
}

func (s *subscription) send(ctx context.Context, e runtime.Event) bool {
	select {
	case s.out <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// compare reports what changed in the cluster.
func (s *subscription) compare(ctx context.Context) bool {
	all, err := s.p.pods.List()
	if err != nil {
		return true // nothing is known
	}
	there := make(map[types.UID]bool, len(all))
	for _, pod := range all {
		there[pod.UID] = true
		f := s.pods[pod.UID]
		if f == nil {
			f = &followed{name: pod.Annotations[names.AnnotationSession]}
			s.pods[pod.UID] = f
		}
		if !s.report(ctx, pod, f) {
			return false
		}
	}
	for uid, f := range s.pods {
		if there[uid] {
			continue
		}
		delete(s.pods, uid)
		if f.stop != nil {
			f.stop()
		}
		if f.started && (!f.ended || f.stopped) && !s.send(ctx, runtime.Event{
			Kind: runtime.EventExited, Session: f.name, Time: time.Now(), Exit: &runtime.Exit{Code: -1, Reason: runtime.ReasonUnknown, Disrupted: true},
		}) {
			return false
		}
	}
	return true
}

// report reports the start and the end of one pod's session.
func (s *subscription) report(ctx context.Context, pod *corev1.Pod, f *followed) bool {
	over := !podstate.Running(pod) || s.p.replaced(pod)
	if !f.started && podstate.Started(pod) {
		f.started = true
		if !s.send(ctx, runtime.Event{Kind: runtime.EventStarted, Session: f.name, Time: time.Now()}) {
			return false
		}
		if !over {
			s.follow(ctx, pod, f, func() {})
		}
	}
	exit := exitOf(pod)
	switch {
	case podstate.Stopped(pod): // by us
		f.stopped = false
	case f.stopped && exit != nil && exit.Disrupted: // now the cluster says why
		f.ended, f.stopped = false, false
	}
	if !f.started || f.ended || !over {
		return true
	}
	f.ended = true
	if exit == nil && s.p.lost(pod) {
		exit = lostExit(pod)
	}
	if exit == nil {
		exit = &runtime.Exit{Code: -1, Reason: runtime.ReasonStopped, Time: time.Now()}
	}
	return s.send(ctx, runtime.Event{Kind: runtime.EventExited, Session: f.name, Time: exit.Time, Exit: exit})
}

// rest waits for d, or less if the stream was away and is there again.
func (b *box) rest(ctx context.Context, d time.Duration) error {
	if b.link.State().Is == link.Up {
		return clock.Sleep(ctx, d)
	}
	limited, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for s := range b.link.Changes(limited) {
		if s.Is == link.Up {
			break
		}
	}
	return ctx.Err()
}

// follow subscribes to a pod's multiplexer, again after each loss, and calls subscribed
// after the first attempt.
func (s *subscription) follow(ctx context.Context, pod *corev1.Pod, f *followed, subscribed func()) {
	ctx, f.stop = context.WithCancel(ctx)
	context.AfterFunc(s.p.life, f.stop)
	s.feeds.Go(func() {
		defer subscribed()
		b, err := s.p.box(pod)
		if err != nil {
			return
		}
		for pause := feedAgain; !b.ended(); pause = min(2*pause, feedAgainMax) {
			events, err := b.native.Events(ctx)
			subscribed()
			if err == nil {
				pause = feedAgain
				b.observe(ctx)
				for e := range events {
					b.note(e)
					select {
					case s.fed <- fedEvent{pod.UID, e}:
					case <-ctx.Done():
					}
				}
			}
			if b.rest(ctx, pause) != nil {
				return
			}
		}
	})
}
