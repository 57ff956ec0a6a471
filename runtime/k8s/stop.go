//go:build k8s

package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
)

// stopSlack is how long the multiplexer may take beyond the grace before the pod's deletion
// ends the session.
const stopSlack = 3 * time.Second

// Stop implements runtime.Provider. The pod's multiplexer ends the session, which takes no
// longer than elsewhere; the pod is then deleted, and Stop does not wait for that. If the
// multiplexer is not reached, the cluster ends the session with the pod.
func (p *Provider) Stop(ctx context.Context, name string) error {
	if runtime.CheckName(name) != nil {
		return nil
	}
	if err := p.stop(ctx, name); err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	return nil
}

func (p *Provider) stop(ctx context.Context, name string) error {
	pod, err := p.get(ctx, name)
	if err != nil {
		return err
	}
	if err := p.pin.again(ctx); err != nil {
		return err
	}
	if pod == nil {
		return nil
	}
	grace := runtime.Grace(ctx, p.o.StopGrace)
	switch {
	case podstate.Stopped(pod):
		return nil // whoever stopped it deletes it
	case !podstate.Running(pod):
		return p.pods.Delete(ctx, pod, 0) // nothing runs in it
	case p.replaced(pod):
		return p.pods.Delete(ctx, pod, 0)
	case podstate.Started(pod) && p.endSession(ctx, pod, name, grace):
		return p.discard(ctx, pod, grace)
	}
	return p.pods.Delete(ctx, pod, max(grace, time.Second))
}

// discard deletes a pod whose agent does not run, without waiting for its end: it is marked
// first, so that it counts for nobody; if that fails, its end is awaited. A deletion that the
// cluster did not answer is tried again later.
func (p *Provider) discard(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	now := time.Now().UTC().Format(time.RFC3339)
	err := p.annotate(ctx, pod.Name, string(pod.UID), names.AnnotationStopped, &now)
	switch {
	case errors.Is(err, runtime.ErrSessionNotFound):
		return nil
	case err != nil:
		return p.pods.Delete(ctx, pod, grace)
	}
	err = p.pods.DeleteLater(ctx, pod, grace)
	if errors.Is(err, runtime.ErrBackendUnreachable) || ctx.Err() != nil {
		p.running.Go(func() { p.remove(pod, grace) })
		return nil
	}
	return err
}

// removeLimit bounds the attempts to delete a pod that counts for nobody. The next start of
// its name replaces it if they fail.
const removeLimit = 20 * time.Second

func (p *Provider) remove(pod *corev1.Pod, grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	for p.pods.DeleteLater(ctx, pod, grace) != nil {
		if clock.Sleep(ctx, removeAgain) != nil {
			return
		}
	}
}

// removeAgain is the pause between those attempts.
const removeAgain = time.Second

// endSession ends the session by its multiplexer and reports whether it has ended for
// certain.
func (p *Provider) endSession(ctx context.Context, pod *corev1.Pod, name string, grace time.Duration) bool {
	b, err := p.box(pod)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, grace+stopSlack)
	defer cancel()
	return b.host.Stop(ctx, name) == nil
}

// ConfigureServer implements runtime.ServerLifecycleProvider: nothing is shared by pods.
func (p *Provider) ConfigureServer(context.Context) error { return nil }

// TeardownServer implements runtime.ServerLifecycleProvider. It deletes the pods of ended
// sessions, which were kept for their last screens, unless a session runs.
func (p *Provider) TeardownServer(ctx context.Context) error {
	all, err := p.list(ctx)
	if err == nil && len(all) > 0 {
		err = p.pin.again(ctx)
	}
	if err != nil {
		return fmt.Errorf("delete ended pods: %w", err)
	}
	if slices.ContainsFunc(all, p.runs) {
		return nil
	}
	var errs []error
	for _, pod := range all {
		if err := p.pods.DeleteLater(ctx, pod, teardownGrace); err != nil && !errors.Is(err, runtime.ErrBackendUnreachable) {
			errs = append(errs, err)
		} else if err != nil {
			p.running.Go(func() { p.remove(pod, teardownGrace) })
		}
	}
	return errors.Join(errs...)
}

// teardownGrace is for what a pod still has to say after the end of its agent.
const teardownGrace = 2 * time.Second

// Provider name of found runtimes.
const providerName = "k8s"

// FindRuntimesBySessionID implements runtime.ProcessTableScanner: the pods of the city are
// found by their labels, in the cache.
func (p *Provider) FindRuntimesBySessionID(ctx context.Context, id string) ([]runtime.LiveRuntime, error) {
	all, err := p.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("find agents: %w", err)
	}
	var found []runtime.LiveRuntime
	for _, pod := range all {
		if own := pod.Annotations[names.AnnotationStarted]; p.runs(pod) && own != "" && (id == "" || id == own) {
			found = append(found, live(pod))
		}
	}
	return found, nil
}

func live(pod *corev1.Pod) runtime.LiveRuntime {
	epoch, _ := strconv.ParseInt(pod.Annotations[names.AnnotationEpoch], 10, 64) // 0 is unknown
	return runtime.LiveRuntime{
		SessionID: pod.Annotations[names.AnnotationStarted], Session: pod.Annotations[names.AnnotationSession],
		City: pod.Annotations[names.AnnotationCityPath], Epoch: epoch, Provider: providerName, Tracked: true,
		ID: pod.Namespace + "/" + pod.Name, Token: string(pod.UID),
	}
}

// TerminateRuntime implements runtime.ProcessTableScanner. It ends this very pod.
func (p *Provider) TerminateRuntime(ctx context.Context, r runtime.LiveRuntime) error {
	if r.City == "" {
		return fmt.Errorf("pod %s belongs to no city", cmp.Or(r.ID, r.Session))
	}
	pod, err := p.get(ctx, r.Session)
	if err == nil {
		err = p.pin.again(ctx)
	}
	if err != nil {
		return fmt.Errorf("end pod %s: %w", r.ID, err)
	}
	if pod == nil || r.Token != "" && string(pod.UID) != r.Token || pod.Annotations[names.AnnotationStarted] != r.SessionID {
		return nil
	}
	return p.Stop(ctx, r.Session)
}
