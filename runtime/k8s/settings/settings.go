// Package settings holds what a city says about its pods: resolved with the
// environment, and checked before a cluster sees it. Pure; it knows no client of
// Kubernetes, so that every gc can check a city's configuration: internal/config
// fills it, runtime/k8s makes pods of it.
package settings

import "cmp"

// Settings say how the pods of a city, or of one agent, are made. The zero value,
// resolved, is usable except for the image.
type Settings struct {
	Kubeconfig string // path; "" = KUBECONFIG or ~/.kube/config
	Context    string // "" = in the cluster, or the current one
	Namespace  string

	Image           string
	GCImage         string // has gc at /usr/local/bin/gc; "" = Image has it
	ImagePullPolicy string // "" = the cluster's default
	PullSecrets     []string
	ServiceAccount  string

	Requests map[string]string // "cpu", "memory", "ephemeral-storage" or an extended resource
	Limits   map[string]string

	Workspace     Workspace
	SecretMounts  map[string]string // absolute path in the pod: secret
	EnvFromSecret []string          // secrets whose keys become variables

	NodeSelector map[string]string
	Labels       map[string]string
	Tolerations  []Toleration

	PodOverlay string // path of a strategic merge patch for the pod
	NodeLoss   string // NodeLossReport or NodeLossReplace
}

// Workspace is the volume of the work directory and the home directory.
type Workspace struct {
	Claim string // a persistent volume claim; "" = an emptyDir, which ends with the pod
	Size  string // limit of the emptyDir; "" = none
}

// Toleration lets pods run on tainted nodes.
type Toleration struct {
	Key, Operator, Value, Effect string
}

// What happens when a pod's node does not answer.
const (
	NodeLossReport  = "report"  // it is reported as lost
	NodeLossReplace = "replace" // another pod is started, though the first may still run
)

// variables override keys.
var variables = map[string]string{
	"context": "GC_K8S_CONTEXT", "namespace": "GC_K8S_NAMESPACE", "image": "GC_K8S_IMAGE", "service_account": "GC_K8S_SERVICE_ACCOUNT",
	"requests.cpu": "GC_K8S_CPU_REQUEST", "requests.memory": "GC_K8S_MEM_REQUEST",
	"limits.cpu": "GC_K8S_CPU_LIMIT", "limits.memory": "GC_K8S_MEM_LIMIT",
}

// Variable returns the variable that overrides a key, "requests.cpu"; "" for most.
func Variable(key string) string { return variables[key] }

// Resolve returns s with the variables GC_K8S_* of an environment, and with
// defaults. A variable overrides the file, except that a context in the file is
// explicit and stays.
func (s Settings) Resolve(getenv func(string) string) Settings {
	set := func(key string) string { return getenv(variables[key]) }
	s.Context = cmp.Or(s.Context, set("context"))
	s.Namespace = cmp.Or(set("namespace"), s.Namespace, "default")
	s.Image = cmp.Or(set("image"), s.Image)
	s.ServiceAccount = cmp.Or(set("service_account"), s.ServiceAccount)
	s.NodeLoss = cmp.Or(s.NodeLoss, NodeLossReport)
	s.Requests = merged(s.Requests, map[string]string{"cpu": set("requests.cpu"), "memory": set("requests.memory")})
	s.Limits = merged(map[string]string{"memory": "4Gi"}, s.Limits, map[string]string{"cpu": set("limits.cpu"), "memory": set("limits.memory")})
	s.Requests = merged(defaultRequests(s.Limits), s.Requests)
	return s
}

// defaultRequests are requests that are not above the limits.
func defaultRequests(limits map[string]string) map[string]string {
	requests := map[string]string{"cpu": "250m", "memory": "512Mi"}
	for name, amount := range requests {
		wanted, _ := parseQuantity(amount)
		if limit, ok := parseQuantity(limits[name]); ok && limit.Cmp(wanted) < 0 {
			requests[name] = limits[name]
		}
	}
	return requests
}

// Override returns the settings of an agent whose own settings are over: each
// that it sets replaces the city's, and maps are merged by key.
func (s Settings) Override(over Settings) Settings {
	s.Kubeconfig = cmp.Or(over.Kubeconfig, s.Kubeconfig)
	s.Context = cmp.Or(over.Context, s.Context)
	s.Namespace = cmp.Or(over.Namespace, s.Namespace)
	s.Image = cmp.Or(over.Image, s.Image)
	s.GCImage = cmp.Or(over.GCImage, s.GCImage)
	s.ImagePullPolicy = cmp.Or(over.ImagePullPolicy, s.ImagePullPolicy)
	s.ServiceAccount = cmp.Or(over.ServiceAccount, s.ServiceAccount)
	s.PodOverlay = cmp.Or(over.PodOverlay, s.PodOverlay)
	s.NodeLoss = cmp.Or(over.NodeLoss, s.NodeLoss)
	s.Workspace = cmp.Or(over.Workspace, s.Workspace)
	s.PullSecrets = either(over.PullSecrets, s.PullSecrets)
	s.EnvFromSecret = either(over.EnvFromSecret, s.EnvFromSecret)
	s.Tolerations = either(over.Tolerations, s.Tolerations)
	s.Requests = merged(s.Requests, over.Requests)
	s.Limits = merged(s.Limits, over.Limits)
	s.SecretMounts = merged(s.SecretMounts, over.SecretMounts)
	s.NodeSelector = merged(s.NodeSelector, over.NodeSelector)
	s.Labels = merged(s.Labels, over.Labels)
	return s
}

func either[T any](first, second []T) []T {
	if len(first) > 0 {
		return first
	}
	return second
}

// merged returns the entries of all maps; a later one wins, and "" sets nothing.
func merged(maps ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range maps {
		for key, value := range m {
			if value != "" {
				all[key] = value
			}
		}
	}
	return all
}
