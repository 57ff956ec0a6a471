//go:build k8s

package podstate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity.dev/gc/runtime/k8s/internal/names"
)

var finished = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ended(code int32, reason string) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{
		Phase: corev1.PodFailed,
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: "side", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "agent", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: reason, FinishedAt: metav1.NewTime(finished),
			}}},
		},
	}}
}

func with(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	change(pod)
	return pod
}

func deleted(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: finished} }

func evicted(p *corev1.Pod) { p.Status.Reason = "Evicted" }

func drained(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}}
}

func TestExit(t *testing.T) {
	for _, tt := range []struct {
		name      string
		pod       *corev1.Pod
		want      string // "" = it may run
		disrupted bool   // by the cluster, not by itself
	}{
		{"pending", &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}, "", false},
		{"running", &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}, "", false},
		{"unknown phase", &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodUnknown}}, "", false},
		{"nothing known", &corev1.Pod{}, "", false},
		{"done", ended(0, "Completed"), "exit status 0", false},
		{"failed", ended(7, "Error"), "exit status 7", false},
		{"its container ended, a side container runs", with(ended(7, "Error"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), "exit status 7", false},
		{"killed", ended(137, "Error"), "SIGKILL (killed)", false},
		{"exit status above all signals", ended(255, "Error"), "exit status 255", false},
		{"deleted by hand", with(ended(143, "Error"), deleted), "SIGTERM (pod deleted)", true},
		{"evicted and deleted", with(with(ended(143, "Error"), drained), deleted), "SIGTERM (EvictionByEvictionAPI)", true},
		{"stopped by us", with(with(ended(143, "Error"), deleted), func(p *corev1.Pod) {
			p.Annotations = map[string]string{names.AnnotationStopped: "2026-01-02T03:04:05Z"}
		}), "SIGTERM (stopped)", true},
		{"exited while it was stopped", with(ended(1, "Error"), deleted), "exit status 1", false},
		{"out of memory", ended(137, "OOMKilled"), "SIGKILL (OOMKilled)", false},
		{"evicted", with(ended(137, "Error"), evicted), "SIGKILL (Evicted)", true},
		{"evicted, with a message", with(ended(137, "Error"), func(p *corev1.Pod) {
			evicted(p)
			p.Status.Message = "Usage of EmptyDir volume \"workspace\" exceeds\nthe limit \"1Mi\". "
		}), `SIGKILL (Evicted: Usage of EmptyDir volume "workspace" exceeds the limit "1Mi")`, true},
		{"evicted before its start", with(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, evicted), "exit status unknown (Evicted)", true},
		{"drained", with(ended(143, "Error"), drained), "SIGTERM (EvictionByEvictionAPI)", true},
		{"forgotten", ended(137, "ContainerStatusUnknown"), "exit status unknown (unknown)", true},
		{"not installed", &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "install-gc", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}},
		}}}, "exit status unknown (install-gc: Error (exit status 1))", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Exit(tt.pod)
			if got == nil {
				if tt.want != "" {
					t.Fatalf("it may run, want %q", tt.want)
				}
			} else if got.Text() != tt.want {
				t.Errorf("%q, want %q", got.Text(), tt.want)
			}
			if Running(tt.pod) != (tt.want == "") {
				t.Errorf("running: %t", Running(tt.pod))
			}
			if got != nil && got.Disrupted != tt.disrupted {
				t.Errorf("disrupted: %t, want %t", got.Disrupted, tt.disrupted)
			}
		})
	}
	if got := Exit(ended(7, "Error")).Time; !got.Equal(finished) {
		t.Errorf("ended at %v", got)
	}
}

func waiting(reason, message string) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{
		{Name: "install-gc", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
	}}}
}

func TestStartTrouble(t *testing.T) {
	since := metav1.NewTime(finished)
	full := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes:\n\x1b[31mno", LastTransitionTime: since,
	}}}}
	for _, tt := range []struct {
		pod  *corev1.Pod
		want string
	}{
		{waiting("ContainerCreating", ""), ""},
		{waiting("PodInitializing", ""), ""},
		{waiting("ErrImagePull", "no such host"), "the pod does not start: ErrImagePull: no such host"},
		{waiting("InvalidImageName", ""), "the pod does not start: InvalidImageName"},
		{full, "the pod does not start: Unschedulable: 0/1 nodes:  [31mno"},
	} {
		got := StartTrouble(tt.pod)
		if got == nil && tt.want != "" || got != nil && got.Error() != tt.want {
			t.Errorf("%v, want %q", got, tt.want)
		}
	}
	if got := StartTrouble(full); !got.Since.Equal(finished) {
		t.Errorf("since %v", got.Since)
	}
	if got := StartTrouble(waiting("ErrImagePull", "")); !got.Since.IsZero() {
		t.Errorf("a missing image is trouble since %v", got.Since)
	}
}

func TestEventTrouble(t *testing.T) {
	for _, tt := range []struct{ kind, reason, message, want string }{
		{"Warning", "Failed", `Failed to pull image "x": rpc error: no such host`, `ErrImagePull: Failed to pull image "x": rpc error: no such host`},
		{"Warning", "Failed", "Error: ErrImagePull", "ErrImagePull"},
		{"Warning", "Failed", `Error: secret "s" not found`, `Failed: secret "s" not found`},
		{"Warning", "InspectFailed", `Failed to apply default image tag "No Image"`, `InspectFailed: Failed to apply default image tag "No Image"`},
		{"Warning", "ErrImageNeverPull", `Container image "x" is not present`, `ErrImageNeverPull: Container image "x" is not present`},
		{"Warning", "FailedMount", `MountVolume.SetUp failed for volume "s" : secret "s" not found`, `FailedMount: MountVolume.SetUp failed for volume "s" : secret "s" not found`},
		{"Warning", "FailedMount", `MountVolume.SetUp failed for volume "s" : references non-existent secret key: k`, `FailedMount: MountVolume.SetUp failed for volume "s" : references non-existent secret key: k`},
		{"Warning", "FailedMount", `MountVolume.SetUp failed for volume "v" : driver name csi.x not found in the list of registered CSI drivers`, ""},
		{"Warning", "FailedMount", "failed to sync configmap cache: timed out waiting for the condition", ""},
		{"Warning", "FailedScheduling", "0/1 nodes are available", ""},
		{"Warning", "FailedCreatePodSandBox", "network is not ready", ""},
		{"Normal", "Failed", "Error: ErrImagePull", ""},
	} {
		got := EventTrouble(&corev1.Event{Type: tt.kind, Reason: tt.reason, Message: tt.message})
		if got == nil && tt.want != "" || got != nil && got.Error() != "the pod does not start: "+tt.want {
			t.Errorf("%s %q: %v, want %q", tt.reason, tt.message, got, tt.want)
		}
	}
}

func TestLost(t *testing.T) {
	pod := func(phase corev1.PodPhase, ready corev1.ConditionStatus, containerReady bool) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{
			Phase:      phase,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "agent", Ready: containerReady, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			},
		}}
	}
	if !Lost(pod(corev1.PodRunning, corev1.ConditionFalse, true)) {
		t.Error("a pod that is not ready while its container was is lost")
	}
	for name, p := range map[string]*corev1.Pod{
		"ready":               pod(corev1.PodRunning, corev1.ConditionTrue, true),
		"starting":            pod(corev1.PodPending, corev1.ConditionFalse, true),
		"container not ready": pod(corev1.PodRunning, corev1.ConditionFalse, false),
		"ended":               ended(0, "Completed"),
	} {
		if Lost(p) {
			t.Errorf("%s: lost", name)
		}
	}
}
