//go:build k8s

package diagnose

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/pods"
	"gascity.dev/gc/runtime/k8s/internal/podspec"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
)

// Times of the pod.
const (
	podLimit = 2 * time.Minute // until it has ended: an image may be large
	podStep  = 300 * time.Millisecond
)

// pod starts a pod as the city would, which runs gc version, and deletes it.
func (c *Check) pod(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, podLimit)
	defer cancel()
	pod, err := c.build()
	if err != nil {
		c.bad("pod", "", "%v", err)
		return
	}
	api := c.Client.CoreV1().Pods(pod.Namespace)
	began := time.Now()
	made, err := api.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		c.refused(err)
		return
	}
	defer func() {
		options := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &made.UID}}
		if err := api.Delete(context.WithoutCancel(ctx), made.Name, options); err != nil && !apierrors.IsNotFound(err) {
			c.bad("pod", "kubectl delete pod -n "+made.Namespace+" "+made.Name, "%s remains: %v", made.Name, err)
		}
	}()
	warned, stop := c.warnings(ctx, made)
	defer stop()
	for {
		if err := clock.Sleep(ctx, podStep); err != nil {
			c.bad("pod", "kubectl describe pod in the namespace while gc doctor k8s runs", "%s: not ready within %v: %s", made.Name, podLimit, waiting(made))
			return
		}
		now, err := api.Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			continue // until the limit
		}
		made = now
		trouble := podstate.StartTrouble(made)
		select {
		case t := <-warned:
			trouble = cmp.Or(trouble, t)
		default:
		}
		switch exit := podstate.Exit(made); {
		case exit != nil && exit.Code == 0:
			c.ok("pod", "%s runs gc after %v, node %s", c.Settings.Image, time.Since(began).Round(100*time.Millisecond), made.Spec.NodeName)
			return
		case exit != nil:
			c.bad("pod", "gc_image in [session.k8s] names an image with gc at /usr/local/bin/gc; \"\" means that image has it", "gc does not run in %s: %s", c.Settings.Image, exit.Text())
			return
		case trouble != nil:
			c.bad("pod", trouble.Hint(), "%v", trouble)
			return
		}
	}
}

// warnings returns a channel with what an event says against the start of a pod.
func (c *Check) warnings(ctx context.Context, pod *corev1.Pod) (said <-chan *podstate.Trouble, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	warned, done := make(chan *podstate.Trouble, 1), make(chan struct{})
	go func() {
		defer close(done)
		if trouble := pods.Trouble(ctx, c.Client, pod); trouble != nil {
			warned <- trouble
		}
	}()
	return warned, func() { cancel(); <-done }
}

func (c *Check) build() (*corev1.Pod, error) {
	id := rand.Text()
	pod, err := podspec.Build(podspec.Spec{
		Session:  names.Session{City: "doctor-" + id, Name: "doctor", Incarnation: id, Agent: "doctor"},
		Settings: c.Settings, Args: []string{"version"},
	})
	if err != nil || c.Settings.PodOverlay == "" {
		return pod, err
	}
	patch, err := os.ReadFile(c.Settings.PodOverlay)
	if err != nil {
		return nil, fmt.Errorf("pod_overlay: %w", err)
	}
	return podspec.Overlay(pod, patch)
}

// refused reports why no pod could be created.
func (c *Check) refused(err error) {
	hint := ""
	switch {
	case apierrors.IsForbidden(err):
		hint = "a quota, a Pod Security level or a policy of the namespace says so"
	case apierrors.IsInvalid(err):
		hint = "change [session.k8s], or what pod_overlay adds"
	}
	c.bad("pod", hint, "the cluster refuses a pod: %v", err)
}

// waiting says what a pod waits for.
func waiting(pod *corev1.Pod) string {
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if w := s.State.Waiting; w != nil && w.Reason != "PodInitializing" {
			return s.Name + " " + w.Reason
		}
	}
	return "phase " + string(pod.Status.Phase)
}
