//go:build k8s

package pods

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"testing/synctest"

	"gascity.dev/gc/runtime"
)

// terminating is what the API server says about a pod in a namespace that is being deleted.
func terminating() error {
	err := apierrors.NewForbidden(podResource.GroupResource(), "a", errors.New("unable to create new content in namespace ns because it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Field: "metadata.namespace"}}
	return err
}

// denied is what it says when a webhook refuses with a text and a status.
func denied(code int32, text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: `admission webhook "w.test" denied the request: ` + text}}
}

// TestRefusals: a pod that the API server does not make fails its start in one line, with
// the next step; it is the agent's failure only if its settings are wrong.
func TestRefusals(t *testing.T) {
	group := podResource.GroupResource()
	for name, tt := range map[string]struct {
		err        error
		text, hint string
		busy       bool
	}{
		"webhook":      {denied(403, "no pods\ntoday"), "denied the request: no pods today", "administrators", true},
		"webhook, 400": {denied(400, "no"), `"w.test" denied`, "administrators", true},
		"no webhook":   {apierrors.NewInternalError(errors.New(`failed calling webhook "w.test": connection refused`)), `"w.test"`, "does not work", true},
		"terminating":  {terminating(), "is being terminated", "create it anew", true},
		"quota":        {apierrors.NewForbidden(group, "a", errors.New("exceeded quota: q")), "exceeded quota: q", "raise the quota", true},
		"security":     {apierrors.NewForbidden(group, "a", errors.New(`violates PodSecurity "restricted:latest"`)), "PodSecurity", "pod_overlay", false},
		"permission":   {apierrors.NewForbidden(group, "", errors.New(`User "u" cannot create resource "pods"`)), "cannot create", "gc doctor k8s", false},
		"limits":       {apierrors.NewForbidden(group, "a", errors.New("maximum memory usage per Container is 1Mi")), "maximum memory", "limits", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				c.PrependReactor("create", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) { return true, nil, tt.err })
				_, err := start(t, c).Create(t.Context(), pod("a"))
				if err == nil || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("%q lacks %q, or is no line", err, tt.text)
				}
				var hinted interface{ Hint() string }
				if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), tt.hint) {
					t.Errorf("%v: the hint lacks %q", err, tt.hint)
				}
				if errors.Is(err, runtime.ErrBackendBusy) != tt.busy || errors.Is(err, runtime.ErrBackendUnreachable) || !errors.Is(err, tt.err) {
					t.Errorf("%v: busy is not %v", err, tt.busy)
				}
			})
		})
	}
}
