//go:build k8s

package podstate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podspec"
)

// Reasons of an exit that the cluster caused.
const (
	OOMKilled = "OOMKilled"   // the agent, or all of its pod, used too much memory
	Evicted   = "Evicted"     // the node lacked something
	Deleted   = "pod deleted" // while the agent ran
)

// Exit returns how a pod's agent ended; nil while it may run. The reason is one of
// package outcome or the cluster's word, with its message if it has one.
func Exit(pod *corev1.Pod) *outcome.Exit {
	e := exit(pod)
	switch {
	case e == nil:
	case disruption(pod) != "":
		e.Reason, e.Disrupted = disruption(pod), true
	case e.Reason == outcome.Stopped && Ending(pod) != "":
		e.Reason, e.Disrupted = Ending(pod), true
	case e.Reason == outcome.Stopped || e.Reason == outcome.Unknown:
		e.Disrupted = true
	}
	return e
}

func exit(pod *corev1.Pod) *outcome.Exit {
	if ended := terminated(pod.Status.ContainerStatuses, podspec.Container); ended != nil {
		return agentExit(pod, ended)
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
	return e
}

func agentExit(pod *corev1.Pod, ended *corev1.ContainerStateTerminated) *outcome.Exit {
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
	if pod.DeletionTimestamp != nil && e.Reason == outcome.Killed {
		e.Reason = outcome.Stopped
	}
	return e
}

// disruption returns why the cluster ended the pod, or began to; "" if it did not. The
// agent did not fail by an eviction, a drain, a lost node or a preemption.
func disruption(pod *corev1.Pod) string {
	if pod.Status.Reason != "" {
		message, _ := strings.CutSuffix(strings.TrimSpace(oneLine(pod.Status.Message)), ".")
		if message == "" || len(message) > maxMessage {
			return pod.Status.Reason
		}
		return pod.Status.Reason + ": " + message
	}
	if c := condition(pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		return c.Reason
	}
	return ""
}

// Ending returns why the pod ends, or ended, while its session ran; "" if nothing is known.
func Ending(pod *corev1.Pod) string {
	if why := disruption(pod); why != "" || pod.DeletionTimestamp == nil || Stopped(pod) {
		return why
	}
	return Deleted
}

// maxMessage bounds the message in a reason, in bytes.
const maxMessage = 200

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

// Lost reports whether the pod's node does not answer: nobody knows whether the
// agent runs. The node controller then marks the pod as not ready and leaves
// the statuses of its containers.
func Lost(pod *corev1.Pod) bool {
	ready, agent := condition(pod, corev1.PodReady), find(pod.Status.ContainerStatuses, podspec.Container)
	return pod.Status.Phase == corev1.PodRunning && ready != nil && ready.Status != corev1.ConditionTrue &&
		agent != nil && agent.State.Running != nil && agent.Ready
}

// Running reports whether the session exists: its pod is there, its agent has not
// ended and nobody ended it for good. A pod that is starting or being deleted is running.
func Running(pod *corev1.Pod) bool { return Exit(pod) == nil && !Stopped(pod) }

// Started reports whether the pod's session was made.
func Started(pod *corev1.Pod) bool { return pod.Annotations[names.AnnotationStarted] != "" }

// Stopped reports whether the pod's session was ended for good; the pod will be gone soon.
func Stopped(pod *corev1.Pod) bool { return pod.Annotations[names.AnnotationStopped] != "" }

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

// Hint is the next step; "" if none is known.
func (t *Trouble) Hint() string {
	switch t.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "InspectFailed", "ErrImageNeverPull", "ImageInspectError":
		return "check image, gc_image and image_pull_secrets in [session.k8s]"
	case "CreateContainerConfigError", "Failed", "FailedMount":
		return "check env_from_secret and secret_mounts: the secrets and their keys must exist in the namespace"
	case corev1.PodReasonUnschedulable:
		return "check requests, node_selector, tolerations and workspace.claim in [session.k8s], or add a node"
	}
	return ""
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

// EventTrouble returns what a warning about a pod says of its start: nil for what may pass by
// itself. The kubelet's words are "Failed to pull image …", and "Error: …" of a container
// that it could not create or start.
func EventTrouble(e *corev1.Event) *Trouble {
	t := &Trouble{Reason: e.Reason, Message: e.Message}
	text, failed := strings.CutPrefix(e.Message, "Error: ")
	switch {
	case e.Type != corev1.EventTypeWarning:
		return nil
	case e.Reason == "Failed" && strings.HasPrefix(e.Message, "Failed to pull image"):
		t.Reason = "ErrImagePull"
	case e.Reason == "Failed" && failed && slices.Contains(hopeless, text):
		t.Reason, t.Message = text, ""
	case e.Reason == "Failed" && failed:
		t.Message = text
	case e.Reason == "ErrImageNeverPull", e.Reason == "InspectFailed":
	case e.Reason == "FailedMount" && lacking.MatchString(e.Message):
	default:
		return nil
	}
	return t
}

// lacking is said of a volume whose secret or config map, or a key in it, does not exist.
// Other volumes may be mounted later.
var lacking = regexp.MustCompile(`(secret|configmap) "[^"]*" not found|references non-existent (secret|config) key`)

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
