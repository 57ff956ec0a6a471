//go:build k8s

package diagnose

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	authorization "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"gascity.dev/gc/runtime/k8s/settings"
)

// Finding is one thing that was checked.
type Finding struct {
	Bad   bool   // it keeps pods from running
	About string // "cluster", "namespace", "permissions", "pod"
	Text  string // one line
	Hint  string // what to do; may be empty
}

// Check is one diagnosis.
type Check struct {
	Client   kubernetes.Interface
	Server   string // the address of the API server
	Settings settings.Settings
	WithPod  bool // also start a pod

	found []Finding
}

func (c *Check) ok(about, format string, args ...any) {
	c.found = append(c.found, Finding{About: about, Text: fmt.Sprintf(format, args...)})
}

func (c *Check) bad(about, hint, format string, args ...any) {
	c.found = append(c.found, Finding{Bad: true, About: about, Hint: hint, Text: fmt.Sprintf(format, args...)})
}

// manifest grants what gc needs.
const manifest = "apply contrib/k8s/role.yaml in the namespace, or ask its administrator"

// Run checks one thing after the other, and stops at the first without which the others
// would only repeat it.
func (c *Check) Run(ctx context.Context) []Finding {
	if c.cluster(ctx) && c.namespace(ctx) && c.permissions(ctx) && c.WithPod {
		c.pod(ctx)
	}
	return c.found
}

// answerLimit is how long the cluster may take to answer.
const answerLimit = 10 * time.Second

func (c *Check) cluster(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	began := time.Now()
	// Who am I is allowed to everybody who is known; the version may be to nobody.
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{
		NonResourceAttributes: &authorization.NonResourceAttributes{Path: "/version", Verb: "get"},
	}}
	_, err := c.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	var address *url.Error
	switch {
	case apierrors.IsUnauthorized(err):
		c.bad("cluster", "log in again: kubectl get pods says the same", "%s does not accept these credentials", c.Server)
	case errors.As(err, &address):
		c.bad("cluster", "check context and kubeconfig in [session.k8s], or kubectl cluster-info", "%s does not answer: %v", c.Server, address.Err)
	case err != nil:
		c.bad("cluster", "", "%s: %v", c.Server, err)
	default:
		took := time.Since(began).Round(time.Millisecond)
		version, err := c.Client.Discovery().ServerVersion()
		if err != nil {
			c.ok("cluster", "%s answers in %v", c.Server, took)
			return true
		}
		c.ok("cluster", "%s, Kubernetes %s, answers in %v", c.Server, version.GitVersion, took)
		return true
	}
	return false
}

// enforce is the label of a namespace with its Pod Security level.
const enforce = "pod-security.kubernetes.io/enforce"

func (c *Check) namespace(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	name := c.Settings.Namespace
	ns, err := c.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		c.bad("namespace", "kubectl create namespace "+name+", or change namespace in [session.k8s]", "there is no namespace %s", name)
		return false
	case apierrors.IsForbidden(err):
		c.ok("namespace", "%s; whether it exists, and its Pod Security level, cannot be read", name)
		return true // the missing permission is named below
	case err != nil:
		c.bad("namespace", "", "%s: %v", name, err)
		return false
	case ns.Status.Phase == corev1.NamespaceTerminating:
		c.bad("namespace", "wait until it is gone and create it anew, or use another one", "%s is being deleted: no pod can be created in it", name)
		return false
	}
	level := ns.Labels[enforce]
	switch level {
	case "":
		c.ok("namespace", "%s, without a Pod Security level; pods of gc pass \"restricted\"", name)
	default:
		c.ok("namespace", "%s, Pod Security level %q; pods of gc pass \"restricted\"", name, level)
	}
	return true
}

// permission is a verb on a resource.
type permission struct{ verb, resource string }

func (p permission) String() string { return p.verb + " " + p.resource }

// permissions are what the provider uses: those of contrib/k8s/role.yaml.
func permissions() (all []permission) {
	for _, of := range []struct {
		resource string
		verbs    []string
	}{
		{"pods", []string{"get", "list", "watch", "create", "patch", "delete"}},
		{"pods/exec", []string{"get", "create"}},
		{"pods/log", []string{"get"}},
		{"events", []string{"get", "list", "watch"}},
		{"namespaces", []string{"get"}},
	} {
		for _, verb := range of.verbs {
			all = append(all, permission{verb, of.resource})
		}
	}
	return all
}

// permissions asks for each at once.
func (c *Check) permissions(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	all := permissions()
	denied, errs := make([]bool, len(all)), make([]error, len(all))
	var asked sync.WaitGroup
	for i, p := range all {
		asked.Go(func() { denied[i], errs[i] = c.denied(ctx, p) })
	}
	asked.Wait()
	if err := errors.Join(errs...); err != nil {
		c.bad("permissions", "", "cannot be read: %v", errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })])
		return false
	}
	var missing []string
	for i, p := range all {
		if denied[i] {
			missing = append(missing, p.String())
		}
	}
	if len(missing) > 0 {
		c.bad("permissions", manifest, "missing in namespace %s: %s", c.Settings.Namespace, strings.Join(missing, ", "))
		return false
	}
	c.ok("permissions", "all %d on pods, pods/exec, pods/log, events and the namespace", len(all))
	return true
}

func (c *Check) denied(ctx context.Context, p permission) (bool, error) {
	resource, sub, _ := strings.Cut(p.resource, "/")
	of := &authorization.ResourceAttributes{Namespace: c.Settings.Namespace, Verb: p.verb, Resource: resource, Subresource: sub}
	if resource == "namespaces" {
		of.Name = c.Settings.Namespace
	}
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: of}}
	answer, err := c.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return !answer.Status.Allowed, nil
}
