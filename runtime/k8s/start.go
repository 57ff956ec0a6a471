//go:build k8s

package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/pods"
	"gascity.dev/gc/runtime/k8s/internal/podspec"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
	"gascity.dev/gc/runtime/k8s/internal/stream"
	"gascity.dev/gc/runtime/k8s/settings"
)

// Times of a start.
const (
	abandonGrace = 2 * time.Second  // for a pod of a failed start
	abandonLimit = 20 * time.Second // for its deletion
	defaultWait  = 10 * time.Minute // of the pod, for its session
	waitSlack    = 30 * time.Second
	aloneLimit   = 30 * time.Second      // of the same, while nobody is connected to its multiplexer
	muxFirst     = 20 * time.Millisecond // between attempts to reach a new multiplexer
	muxMax       = 250 * time.Millisecond
)

// Start implements runtime.Provider. Creating the pod is the lock of the name: only one
// process succeeds.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return p.starts.Start(name, func() error {
		pod, err := p.get(ctx, name)
		if err == nil && (pod == nil || !p.runs(pod)) {
			err = runtime.ErrSessionNotFound
		}
		return err
	}, func() (bool, error) { return p.start(ctx, name, cfg) })
}

// errNoCity is why nothing is started: pods are found by the city's UID.
var errNoCity = errors.New("the city was never started: it has no identity for pods")

// start reports whether it made a pod.
func (p *Provider) start(ctx context.Context, name string, cfg runtime.Config) (bool, error) {
	cfg.WorkDir = cmp.Or(cfg.WorkDir, podspec.Work)
	if there, err := p.known(ctx); !there {
		return false, cmp.Or(err, errNoCity)
	}
	pod, err := p.spec(ctx, name, cfg)
	if err != nil {
		return false, err
	}
	created, err := p.pods.Create(ctx, pod)
	if err != nil {
		return false, err
	}
	if err := p.startIn(ctx, created, name, cfg); err != nil {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonLimit)
		defer cancel()
		if derr := p.abandon(after, created, err); derr != nil {
			p.release(created) // the pod ends once it is left alone
			err = fmt.Errorf("%w; the pod is left behind: %w", err, derr)
		}
		return true, err
	}
	return true, nil
}

// abandon deletes the pod of a failed start. It waits for the end of the pod only if its
// agent may run.
func (p *Provider) abandon(ctx context.Context, created *corev1.Pod, reason error) error {
	pod, err := p.pods.Get(created.Name)
	agent := err != nil || pod != nil && pod.UID == created.UID && podstate.Started(pod) && runtime.IsBackendFailure(reason)
	if !agent && p.discard(ctx, created, abandonGrace) == nil {
		return nil
	}
	return p.pods.Delete(ctx, created, abandonGrace)
}

// spec returns the pod of a session.
func (p *Provider) spec(ctx context.Context, name string, cfg runtime.Config) (*corev1.Pod, error) {
	s := p.o.Cluster
	if p.o.Settings != nil {
		var err error
		if s, err = p.o.Settings(name, cfg); err != nil {
			return nil, err
		}
		s.Namespace = p.o.Cluster.Namespace
	}
	if problems := s.Check(); len(problems) > 0 {
		return nil, errors.New(problems[0].String())
	}
	wait := defaultWait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)+waitSlack)
	}
	pod, err := podspec.Build(podspec.Spec{
		Session:  names.Session{City: p.city, Name: name, Incarnation: incarnation(), Agent: cfg.Env["GC_AGENT"], Protocol: p.protocol()},
		Settings: s,
		Args:     []string{"pod-run", "--session", name, "--wait", wait.Round(time.Second).String(), "--alone", aloneLimit.String(), "--termination", corev1.TerminationMessagePathDefault},
		WorkDir:  cfg.WorkDir,
	})
	if err != nil {
		return nil, err
	}
	pod.Annotations[names.AnnotationStarter] = starter()
	if p.o.Host != "" {
		pod.Annotations[names.AnnotationHost] = p.o.Host
	}
	if s.NodeLoss != p.o.Cluster.NodeLoss {
		pod.Annotations[names.AnnotationNodeLoss] = s.NodeLoss
	}
	if city := cmp.Or(cfg.Env["GC_CITY_PATH"], cfg.Env["GC_CITY"]); city != "" {
		pod.Annotations[names.AnnotationCityPath] = city
	}
	if epoch := cfg.Env["GC_RUNTIME_EPOCH"]; epoch != "" {
		pod.Annotations[names.AnnotationEpoch] = epoch
	}
	return overlaid(pod, s)
}

func incarnation() string { return strings.ToLower(rand.Text()[:16]) }

// overlaid applies the settings' overlay.
func overlaid(pod *corev1.Pod, s settings.Settings) (*corev1.Pod, error) {
	if s.PodOverlay == "" {
		return pod, nil
	}
	patch, err := os.ReadFile(s.PodOverlay)
	if err != nil {
		return nil, fmt.Errorf("pod_overlay: %w", err)
	}
	return podspec.Overlay(pod, patch)
}

// startIn starts the session in its new pod.
func (p *Provider) startIn(ctx context.Context, pod *corev1.Pod, name string, cfg runtime.Config) error {
	if err := p.awaitContainer(ctx, pod); err != nil {
		return err
	}
	b, err := p.box(pod)
	if err != nil {
		return err
	}
	if err := b.awaitMux(ctx); err != nil {
		return p.reason(ctx, pod, err)
	}
	marked := make(chan error, 1)
	b.whenCreated(func() {
		go func() { marked <- b.markStarted(context.WithoutCancel(ctx), name) }()
	})
	err = b.host.Start(ctx, name, cfg)
	b.whenCreated(nil)
	if err != nil {
		return p.endedDuringStart(ctx, pod, name, cfg, err)
	}
	if err := <-marked; err != nil && !errors.Is(err, runtime.ErrSessionNotFound) {
		return err
	}
	return nil
}

func (b *box) whenCreated(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.created = f
}

// markLimit bounds the note that a session was made.
const markLimit = 15 * time.Second

// markStarted notes in the pod that its session exists, for every process that asks.
func (b *box) markStarted(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, markLimit)
	defer cancel()
	id := "unknown"
	if c, err := b.native.Client(ctx); err == nil {
		if info, err := c.Get(ctx, name); err == nil {
			id = info.ID
		}
	}
	return b.p.annotate(ctx, b.pod, string(b.uid), names.AnnotationStarted, &id)
}

// awaitContainer waits until the agent's container runs, or has ended, and fails with the
// reason as soon as the cluster says that it will not.
func (p *Provider) awaitContainer(ctx context.Context, created *corev1.Pod) error {
	watched, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if trouble := pods.Trouble(watched, p.client, created); trouble != nil {
			cancel(trouble)
		}
	})
	err := p.containerStarts(watched, created)
	trouble := new(podstate.Trouble)
	if err != nil && errors.As(context.Cause(watched), &trouble) {
		err = p.reason(ctx, created, trouble)
	}
	cancel(nil)
	watching.Wait()
	return err
}

// containerStarts is awaitContainer by what the pod says.
func (p *Provider) containerStarts(ctx context.Context, created *corev1.Pod) error {
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, p.o.ScheduleLimit)
	defer cancel()
	var trouble *podstate.Trouble
	warned := false
	pod, err := p.pods.Await(limited, created.Name, func(pod *corev1.Pod) bool {
		if pod == nil || pod.UID != created.UID {
			return true
		}
		trouble = podstate.StartTrouble(pod)
		if trouble != nil && !warned && p.o.Report != nil { // it may be minutes until there is room
			warned = true
			p.o.Report(runtime.Step{Session: pod.Annotations[names.AnnotationSession], Name: stepSchedule, Err: trouble, Took: time.Since(begin), Warning: true})
		}
		return podstate.Exit(pod) != nil || running(pod) || trouble != nil && trouble.Since.IsZero()
	})
	if err != nil && ctx.Err() == nil && trouble == nil { // pulling an image may take its time
		pod, err = p.pods.Await(ctx, created.Name, func(pod *corev1.Pod) bool {
			return pod == nil || pod.UID != created.UID || podstate.Exit(pod) != nil || running(pod) || podstate.StartTrouble(pod) != nil
		})
		if pod != nil {
			trouble = podstate.StartTrouble(pod)
		}
	}
	switch {
	case trouble != nil && !(err == nil && pod != nil && running(pod)):
		if !trouble.Since.IsZero() {
			err = fmt.Errorf("%w: %w (after %d s)", runtime.ErrBackendBusy, trouble, int(time.Since(begin).Seconds()))
		} else {
			err = trouble
		}
		return p.reason(ctx, created, err)
	case err != nil:
		return p.reason(ctx, created, err)
	case pod == nil || pod.UID != created.UID:
		return fmt.Errorf("%w: somebody deleted the pod", runtime.ErrSessionDiedDuringStartup)
	case podstate.Exit(pod) != nil && podstate.Exit(pod).Disrupted:
		return fmt.Errorf("%w: the cluster ended the pod: %s", runtime.ErrBackendBusy, podstate.Exit(pod).Text())
	case podstate.Exit(pod) != nil:
		return p.reason(ctx, created, fmt.Errorf("the pod ended before its session was made: %s%s", podstate.Exit(pod).Text(), said(pod)))
	}
	return nil
}

// stepSchedule is the step of a start that waits for a node.
const stepSchedule runtime.StepName = "schedule"

// running reports whether the agent's container runs.
func running(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == podspec.Container && c.State.Running != nil
	})
}

// awaitMux waits until the pod's multiplexer answers.
func (b *box) awaitMux(ctx context.Context) error {
	for pause := muxFirst; ; pause = min(2*pause, muxMax) {
		c, err := b.native.Client(ctx)
		if err == nil {
			if _, err = c.Status(ctx); err == nil {
				return nil
			}
		}
		if b.ended() {
			return fmt.Errorf("%w: %w", errEnded, err)
		}
		final := errors.Is(err, stream.ErrForbidden) || errors.Is(err, stream.ErrCommand)
		if final || !errors.Is(err, api.ErrUnreachable) && !errors.Is(err, api.ErrNoServer) {
			return err
		}
		if clock.Sleep(ctx, pause) != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// maxEvents is how many events of a pod an error quotes.
const maxEvents = 3

// reason adds the pod's last warnings to an error.
func (p *Provider) reason(ctx context.Context, pod *corev1.Pod, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endNews)
	defer cancel()
	list, lerr := p.client.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{FieldSelector: pods.Warnings(pod)})
	if lerr != nil {
		return err
	}
	var texts []string
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	for _, e := range list.Items {
		text := e.Reason + ": " + strings.Join(strings.Fields(e.Message), " ")
		if !slices.Contains(texts, text) && !strings.Contains(err.Error(), strings.Join(strings.Fields(e.Message), " ")) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(texts[max(0, len(texts)-maxEvents):], "; "))
}

// endedDuringStart turns the error of a start whose pod has ended meanwhile into how its
// agent ended.
func (p *Provider) endedDuringStart(ctx context.Context, created *corev1.Pod, name string, cfg runtime.Config, err error) error {
	if ctx.Err() != nil || errors.Is(err, runtime.ErrStartupBlocked) {
		return err
	}
	death := new(runtime.StartupDeath)
	died := errors.As(err, &death)
	if died && death.Code >= 0 && death.Screen != "" || !died && !runtime.IsBackendFailure(err) && !runtime.IsSessionGone(err) {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, endNews)
	defer cancel()
	pod, aerr := p.pods.Await(limited, created.Name, func(pod *corev1.Pod) bool {
		return pod == nil || pod.UID != created.UID || !podstate.Running(pod)
	})
	if aerr != nil || pod == nil || pod.UID != created.UID {
		return err
	}
	exit := exitOf(pod)
	switch {
	case exit.Disrupted:
		return fmt.Errorf("%w: the cluster ended the pod: %s", runtime.ErrBackendBusy, exit.Text())
	case cfg.Lifecycle == runtime.OneShot && exit.Code == 0:
		return nil
	}
	text, _ := p.lastScreen(ctx, pod)
	return &runtime.StartupDeath{Session: name, Code: exit.Code, Signal: exit.Signal, Screen: text}
}
