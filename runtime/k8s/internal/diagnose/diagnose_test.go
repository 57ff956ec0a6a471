//go:build k8s

package diagnose

import (
	"context"
	"net/url"
	"strings"
	"testing"

	authorization "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"gascity.dev/gc/runtime/k8s/settings"
)

// cluster is a fake that grants everything but some permissions.
func cluster(denied ...string) *fake.Clientset {
	c := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "agents", Labels: map[string]string{enforce: "restricted"}}})
	c.PrependReactor("create", "selfsubjectaccessreviews", func(a ktesting.Action) (bool, runtime.Object, error) {
		review := a.(ktesting.CreateAction).GetObject().(*authorization.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = true
		if of := review.Spec.ResourceAttributes; of != nil {
			what := of.Verb + " " + of.Resource
			if of.Subresource != "" {
				what += "/" + of.Subresource
			}
			for _, d := range denied {
				review.Status.Allowed = review.Status.Allowed && what != d
			}
		}
		return true, review, nil
	})
	return c
}

func run(t *testing.T, client *fake.Clientset, namespace string, withPod bool) string {
	t.Helper()
	s := settings.Settings{Image: "busybox", Namespace: namespace}.Resolve(func(string) string { return "" })
	c := Check{Client: client, Server: "https://api", Settings: s, WithPod: withPod}
	var text []string
	for _, f := range c.Run(context.Background()) {
		mark := "ok"
		if f.Bad {
			mark = "BAD"
		}
		text = append(text, mark+" "+f.About+": "+f.Text)
	}
	return strings.Join(text, "\n")
}

func TestRun(t *testing.T) {
	reviews := func(err error) *fake.Clientset {
		c := cluster()
		c.PrependReactor("create", "selfsubjectaccessreviews", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		return c
	}
	gone := cluster()
	gone.PrependReactor("get", "namespaces", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, &corev1.Namespace{Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}}, nil
	})
	for _, tt := range []struct {
		name, namespace string
		client          *fake.Clientset
		want            []string // the findings, each a part of one
	}{
		{"all is well", "agents", cluster(), []string{"ok cluster: https://api", `ok namespace: agents, Pod Security level "restricted"`, "ok permissions: all 13"}},
		{"missing verbs", "agents", cluster("create pods/exec", "watch events"), []string{"ok cluster", "ok namespace", "BAD permissions: missing in namespace agents: create pods/exec, watch events"}},
		{"no namespace", "other", cluster(), []string{"ok cluster", "BAD namespace: there is no namespace other"}},
		{"namespace that ends", "agents", gone, []string{"ok cluster", "BAD namespace: agents is being deleted"}},
		{"credentials", "agents", reviews(apierrors.NewUnauthorized("no")), []string{"BAD cluster: https://api does not accept these credentials"}},
		{"address", "agents", reviews(&url.Error{Op: "Post", URL: "https://api/x", Err: context.DeadlineExceeded}), []string{"BAD cluster: https://api does not answer: context deadline exceeded"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Split(run(t, tt.client, tt.namespace, false), "\n")
			if len(got) != len(tt.want) {
				t.Fatalf("%q, want %q", got, tt.want)
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%q, want %q", got[i], want)
				}
			}
		})
	}
}

// The pod ends by itself or with a reason, and is deleted in each case.
func TestPod(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status corev1.PodStatus
		want   string
	}{
		{"runs", ended(0), "ok pod: busybox runs gc after"},
		{"no gc in it", ended(127), "BAD pod: gc does not run in busybox"},
		{"image", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "install-gc", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"},
		}}}}, "BAD pod: the pod does not start: ErrImagePull: not found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := cluster()
			client.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
				pod := a.(ktesting.CreateAction).GetObject().(*corev1.Pod)
				pod.Status = tt.status
				return false, nil, nil // and on to the store
			})
			if got := run(t, client, "agents", true); !strings.Contains(got, tt.want) {
				t.Errorf("%s, want %s", got, tt.want)
			}
			left, err := client.CoreV1().Pods("agents").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(left.Items) != 0 {
				t.Errorf("%d pods are left, %v", len(left.Items), err)
			}
		})
	}
}

func ended(status int32) corev1.PodStatus {
	phase := corev1.PodSucceeded
	if status != 0 {
		phase = corev1.PodFailed
	}
	return corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "agent", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: status}},
	}}}
}
