//go:build linux && k8s && e2e

package k8s_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// refused: a pod that a rule of the cluster refuses fails its start in one line that names
// the cause, with a hint, and gc start says both.
func (c *cluster) refused(t *testing.T) {
	for name, f := range map[string]struct {
		prepare    func(*testing.T, string)
		want, hint string
	}{
		"denied":  {c.denies, "denied the request: no pods today; ask Ann", "administrators"},
		"broken":  {c.failsToAnswer, "failed calling webhook", "does not work"},
		"leaving": {c.leaves, "because it is being terminated", "create it anew"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.namespace(t.Context(), t, name, nil)
			f.prepare(t, name)
			s := c.settings(name, boxImage)
			p := provider(t, s, "refused", nil)
			err := p.Start(t.Context(), "a", runtime.Config{Command: "exec cat"})
			if err == nil || !strings.Contains(err.Error(), f.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("start: %v", err)
			}
			if hint := api.Hint(err); !strings.Contains(hint, f.hint) {
				t.Errorf("%v: hint %q", err, hint)
			}
			if !errors.Is(err, runtime.ErrBackendBusy) {
				t.Errorf("%v is a failure of the agent", err)
			}
			g := c.newCity(t, strings.ReplaceAll(town, `namespace = "strict"`, fmt.Sprintf("namespace = %q", name)))
			out, err := g.run("start")
			if err == nil || !strings.Contains(out, f.want) || !strings.Contains(out, f.hint) {
				t.Errorf("gc start: %v", err)
			}
			g.until(t, "I am here", "peek", "here") // the other agents run
		})
	}
}

// webhook registers an admission webhook for the pods of a namespace.
func (c *cluster) webhook(t *testing.T, namespace, url string, ca []byte) {
	t.Helper()
	err := c.Call(t.Context(), http.MethodPost, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": object{"name": namespace},
		"webhooks": []object{{
			"name": "pods." + namespace + ".test", "sideEffects": "None", "admissionReviewVersions": []string{"v1"}, "failurePolicy": "Fail", "timeoutSeconds": 5,
			"clientConfig":      object{"url": url, "caBundle": ca},
			"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": namespace}},
			"rules":             []object{{"operations": []string{"CREATE"}, "apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"pods"}}},
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// denies has a webhook refuse every pod.
func (c *cluster) denies(t *testing.T, namespace string) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, uid, _ := strings.Cut(read(r.Body), `"uid":"`)
		uid, _, _ = strings.Cut(uid, `"`)
		fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": {"uid": %q, "allowed": false, "status": {"code": 403, "message": "no pods today;\nask Ann"}}}`, uid)
	}))
	t.Cleanup(server.Close)
	c.webhook(t, namespace, server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	// It takes a moment until the API server knows it.
	eventually(t, time.Minute, func() error {
		out, err := c.Kubectl(t.Context(), "-n", namespace, "run", "probe", "--image", boxImage, "--dry-run=server").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "denied") {
			return fmt.Errorf("%v: %s", err, out)
		}
		return nil
	})
}

// failsToAnswer has a webhook that nobody serves.
func (c *cluster) failsToAnswer(t *testing.T, namespace string) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	server.Close()
	c.webhook(t, namespace, server.URL, ca)
	eventually(t, time.Minute, func() error {
		out, err := c.Kubectl(t.Context(), "-n", namespace, "run", "probe", "--image", boxImage, "--dry-run=server").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "failed calling webhook") {
			return fmt.Errorf("%v: %s", err, out)
		}
		return nil
	})
}

// leaves deletes the namespace, which a finalizer of one of its objects keeps for a while.
func (c *cluster) leaves(t *testing.T, namespace string) {
	maps := "/api/v1/namespaces/" + namespace + "/configmaps"
	err := c.Call(t.Context(), http.MethodPost, maps, object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "keep", "finalizers": []string{"test.gascity.dev/keep"}},
	}, nil)
	if err == nil {
		err = c.Call(t.Context(), http.MethodDelete, "/api/v1/namespaces/"+namespace, nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out, err := c.Kubectl(t.Context(), "-n", namespace, "patch", "configmap", "keep", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`).CombinedOutput()
		if err != nil && t.Context().Err() == nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

func read(r io.Reader) string {
	data, _ := io.ReadAll(io.LimitReader(r, 1<<20)) // what is missing fails the test
	return string(data)
}
