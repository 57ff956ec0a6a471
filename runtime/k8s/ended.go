//go:build k8s

package k8s

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gascity.dev/gc/internal/outcome"
	agentpod "gascity.dev/gc/internal/pod"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podspec"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
)

// message returns what the pod's first process said at its end, nil if it said nothing.
func message(pod *corev1.Pod) *agentpod.Message {
	m, err := agentpod.Parse(messageText(pod))
	if err != nil {
		return nil
	}
	return m
}

func messageText(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; c.Name == podspec.Container && t != nil {
			return t.Message
		}
	}
	return ""
}

// said is what an ended pod said, for an error; "" or with a separator.
func said(pod *corev1.Pod) string {
	text := messageText(pod)
	if m := message(pod); m != nil {
		text = m.Error
	}
	for _, c := range pod.Status.InitContainerStatuses {
		if t := c.State.Terminated; text == "" && t != nil && t.ExitCode != 0 {
			text = t.Message
		}
	}
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return ""
	}
	return ": " + text
}

// exitOf returns how a pod's agent ended, nil while it may run. The multiplexer knows the
// program's own end; the cluster knows what it did to the pod.
func exitOf(pod *corev1.Pod) *outcome.Exit {
	exit := podstate.Exit(pod)
	if exit == nil {
		return nil
	}
	own := exit.Reason == outcome.Exited || exit.Reason == outcome.Killed
	if m := message(pod); own && m != nil && m.Exit != nil {
		said := *m.Exit
		said.Disrupted = said.Reason == outcome.Stopped // by TERM or by somebody: not the end of the program itself
		if said.Time.IsZero() {
			said.Time = exit.Time
		}
		return explained(pod, &said)
	}
	return exit
}

// explained returns an exit that the pod's multiplexer told, with the cluster's reason if it
// knows one by now.
func explained(pod *corev1.Pod, exit *outcome.Exit) *outcome.Exit {
	if exit == nil || exit.Reason != outcome.Stopped || podstate.Ending(pod) == "" {
		return exit
	}
	e := *exit
	e.Reason, e.Disrupted = podstate.Ending(pod), true
	return &e
}

// LastExit implements runtime.ExitReporter. It makes no request for a pod that has ended.
func (p *Provider) LastExit(ctx context.Context, name string) (*runtime.Exit, error) {
	pod, err := p.get(ctx, name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("exit of %s: %w", name, err)
	case pod == nil || podstate.Stopped(pod):
		return nil, fmt.Errorf("exit of %s: %w", name, runtime.ErrSessionNotFound)
	}
	exit := exitOf(pod)
	switch {
	case exit != nil:
	case p.replaced(pod) && p.lost(pod):
		exit = lostExit(pod)
	case p.replaced(pod):
		err = fmt.Errorf("exit of %s: %w", name, runtime.ErrSessionNotFound)
	case p.ended(pod):
		// It may have used too much memory: the pod says so. Its multiplexer may be gone.
		if exit, err = p.Forward.LastExit(ctx, name); err != nil || exit != nil && exit.Signal == "SIGKILL" {
			if pod, perr := p.endingPod(ctx, name); perr == nil && pod != nil {
				return exitOf(pod), nil
			}
		}
		exit = explained(pod, exit)
	}
	return exit, err
}

// Peek implements runtime.Provider. After the pod's end it is the last screen.
func (p *Provider) Peek(ctx context.Context, name string, lines int) (string, error) {
	pod, err := p.endedPod(ctx, name)
	if err != nil {
		return "", fmt.Errorf("peek %s: %w", name, err)
	}
	if pod == nil {
		text, err := p.Forward.Peek(ctx, name, lines)
		if !runtime.IsSessionGone(err) {
			return text, err
		}
		if pod, _ = p.endingPod(ctx, name); pod == nil {
			return text, err
		}
	}
	text, err := p.lastScreen(ctx, pod)
	if err != nil {
		return "", fmt.Errorf("peek %s: %w", name, err)
	}
	all := strings.Split(text, "\n")
	if lines > 0 && len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n"), nil
}

// endedPod returns the pod of a session whose agent has ended, nil if it has none such.
func (p *Provider) endedPod(ctx context.Context, name string) (*corev1.Pod, error) {
	pod, err := p.get(ctx, name)
	if err != nil || pod == nil || podstate.Stopped(pod) || podstate.Exit(pod) == nil {
		return nil, err
	}
	return pod, nil
}

// endingPod is endedPod, but waits a moment for the end of a pod: its multiplexer ends
// first.
func (p *Provider) endingPod(ctx context.Context, name string) (*corev1.Pod, error) {
	if !p.ready.Load() { // a city without pods
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, endNews)
	defer cancel()
	_, err := p.pods.Await(limited, names.Pod(p.city, name), func(pod *corev1.Pod) bool { return pod == nil || !podstate.Running(pod) })
	if err != nil {
		return nil, err
	}
	return p.endedPod(ctx, name)
}

// maxLog bounds what is read of a log.
const maxLog = 1 << 20

// lastScreen returns the last screen of an ended pod: from the cache, or, if that has only
// the end of it, from the container's log.
func (p *Provider) lastScreen(ctx context.Context, pod *corev1.Pod) (string, error) {
	m := message(pod)
	if m != nil && m.Cut == 0 {
		return strings.TrimRight(m.Text(), "\n"), nil
	}
	limit := int64(maxLog)
	log, err := p.client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: podspec.Container, LimitBytes: &limit}).Stream(ctx)
	if err == nil {
		defer log.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(log, maxLog)); err == nil {
			return strings.TrimRight(string(text), "\n"), nil
		}
	}
	if m != nil { // better the end of the screen than none
		return strings.TrimRight(m.Text(), "\n"), nil
	}
	return "", fmt.Errorf("%w: the last screen of pod %s: %w", runtime.ErrBackendUnreachable, pod.Name, err)
}

// GetLastActivity implements runtime.Provider: that of an ended agent is its end.
func (p *Provider) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	pod, err := p.endedPod(ctx, name)
	if err != nil {
		return time.Time{}, fmt.Errorf("activity of %s: %w", name, err)
	}
	if pod != nil {
		return exitOf(pod).Time, nil
	}
	return p.Forward.GetLastActivity(ctx, name)
}

// WaitFor implements runtime.Waiter. The end of the pod is the end of the session.
func (p *Provider) WaitFor(ctx context.Context, name string, any []runtime.Condition) (int, error) {
	i := slices.IndexFunc(any, func(c runtime.Condition) bool { return c.Exit })
	met, err := p.Forward.WaitFor(ctx, name, any)
	if i < 0 || !errors.Is(err, runtime.ErrSessionNotFound) {
		return met, err
	}
	if pod, perr := p.endingPod(ctx, name); perr != nil || pod == nil {
		return met, err
	}
	return i, nil
}
