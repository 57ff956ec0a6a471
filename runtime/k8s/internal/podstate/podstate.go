//go:build k8s

package podstate

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/runtime/k8s/internal/podspec"
)

// Reasons of an exit that the cluster caused.
const (
	OOMKilled = "OOMKilled" // the agent, or all of its pod, used too much memory
	Evicted   = "Evicted"   // the node lacked something
)

// Exit returns how a pod's agent ended; nil while it may run. The reason is one of
// package outcome or the cluster's word.
func Exit(pod *corev1.Pod) *outcome.Exit {
	if ended := terminated(pod.Status.ContainerStatuses, podspec.Container); ended != nil {
		return exit(pod, ended)
	}
	if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		return nil
	}
	// The agent did not run, or nobody knows how it ended.
	e := &outcome.Exit{Code: -1, Reason: outcome.Unknown}
	if install := terminated(pod.Status.InitContainerStatuses, podspec.Installer); install != nil && install.ExitCode != 0 {
		e.Reason = fmt.Sprintf("%s: %s (exit status %d)", podspec.Installer, install.Reason, install.ExitCode)
		e.Time = install.FinishedAt.Time
	}
	if pod.Status.Reason != "" {
		e.Reason = pod.Status.Reason
	}
	return e
}

func exit(pod *corev1.Pod, ended *corev1.ContainerStateTerminated) *outcome.Exit {
	e := &outcome.Exit{Code: int(ended.ExitCode), Reason: outcome.Exited, Time: ended.FinishedAt.Time}
	if n := e.Code - 128; n > 0 && n < 65 {
		e.Signal, e.Reason = unix.SignalName(unix.Signal(n)), outcome.Killed
	}
	switch ended.Reason {
	case "Completed", "Error", "":
	case "ContainerStatusUnknown": // the node forgot the container
		e.Code, e.Signal, e.Reason = -1, "", outcome.Unknown
	default:
		e.Reason = ended.Reason
	}
	switch {
	case pod.Status.Reason != "":
		e.Reason = pod.Status.Reason
	case pod.DeletionTimestamp != nil && e.Reason == outcome.Killed:
		e.Reason = outcome.Stopped
	}
	return e
}

func terminated(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStateTerminated {
	if s := find(statuses, name); s != nil {
		return s.State.Terminated
	}
	return nil
}

func find(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	if i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == name }); i >= 0 {
		return &statuses[i]
	}
	return nil
}

// AgentFailed reports whether an ended pod's agent is the cause: it exited or
// used too much memory. An eviction, a drain or a lost node is not its failure.
func AgentFailed(pod *corev1.Pod) bool {
	e := Exit(pod)
	if e == nil || e.Code == 0 || disrupted(pod) {
		return false
	}
	return slices.Contains([]string{outcome.Exited, outcome.Killed, outcome.NotFound, OOMKilled}, e.Reason)
}

// disrupted reports whether the cluster ended the pod, or began to.
func disrupted(pod *corev1.Pod) bool {
	c := condition(pod, corev1.DisruptionTarget)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Lost reports whether the pod's node does not answer: nobody knows whether the
// agent runs. The node controller then marks the pod as not ready and leaves
// the statuses of its containers.
func Lost(pod *corev1.Pod) bool {
	ready, agent := condition(pod, corev1.PodReady), find(pod.Status.ContainerStatuses, podspec.Container)
	return pod.Status.Phase == corev1.PodRunning && ready != nil && ready.Status != corev1.ConditionTrue &&
		agent != nil && agent.State.Running != nil && agent.Ready
}

// Running reports whether the session exists: its pod is there and its agent
// has not ended. A pod that is starting or being deleted is running.
func Running(pod *corev1.Pod) bool { return Exit(pod) == nil }

// hopeless are the reasons of a container that does not start, where waiting does
// not help, or not soon.
var hopeless = []string{
	"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
	"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

// Trouble says why a pod does not start.
type Trouble struct {
	Reason  string // the cluster's word: "ErrImagePull", "Unschedulable"
	Message string // for a person; may be empty
	// Since is when an unschedulable pod became so: it may be schedulable again.
	// Zero for trouble that does not pass by itself.
	Since time.Time
}

func (t *Trouble) Error() string {
	if t.Message == "" {
		return "the pod does not start: " + t.Reason
	}
	return "the pod does not start: " + t.Reason + ": " + oneLine(t.Message)
}

// StartTrouble returns what keeps a pod from running; nil if nothing is known.
func StartTrouble(pod *corev1.Pod) *Trouble {
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil && slices.Contains(hopeless, w.Reason) {
			return &Trouble{Reason: w.Reason, Message: w.Message}
		}
	}
	if c := condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
		return &Trouble{Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time}
	}
	return nil
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// oneLine replaces line breaks and other control characters.
func oneLine(s string) string {
	out := []rune(s)
	for i, r := range out {
		if r < ' ' || r == 0x7f {
			out[i] = ' '
		}
	}
	return string(out)
}
