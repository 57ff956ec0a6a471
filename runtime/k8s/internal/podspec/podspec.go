//go:build k8s

package podspec

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/settings"
)

// Container is the name of the agent's container; Installer is that of the
// init container, which brings gc.
const (
	Container = "agent"
	Installer = "install-gc"
)

// Where things are in a pod.
const (
	Program      = "/gc/gc"            // our own, whatever the image
	Home         = "/home/agent"       // HOME
	Work         = "/workspace"        // the work directory, or an ancestor
	Temporary    = "/tmp"              // TMPDIR
	userID       = 1000                // of the agent, whatever the image says
	graceSeconds = 10                  // between TERM and KILL
	programDir   = "/gc"               // an emptyDir
	inImage      = "/usr/local/bin/gc" // gc in an image that has it
)

// Spec says what a session's pod is made of.
type Spec struct {
	Session  names.Session
	Settings settings.Settings // resolved and checked

	// GCImage has gc at /usr/local/bin/gc, as `gc image build` makes it; "" = that of
	// the settings.
	GCImage string

	Args    []string          // of gc in the pod: "pod-run", …
	WorkDir string            // absolute; "" = Work
	Env     map[string]string // no secrets; HOME, PATH and TMPDIR are the pod's own and skipped
}

// Build returns the pod without an overlay.
func Build(s Spec) (*corev1.Pod, error) {
	if s.WorkDir != "" && !path.IsAbs(s.WorkDir) {
		return nil, fmt.Errorf("the work directory %q is not absolute", s.WorkDir)
	}
	requirements, err := resources(s.Settings)
	if err != nil {
		return nil, err
	}
	storage, err := volumes(s.Settings)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(s.Settings.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, s.Session.Labels())
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        names.Pod(s.Session.City, s.Session.Name),
			Namespace:   s.Settings.Namespace,
			Labels:      labels,
			Annotations: s.Session.Annotations(),
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			ServiceAccountName:            s.Settings.ServiceAccount,
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			TerminationGracePeriodSeconds: new(int64(graceSeconds)),
			NodeSelector:                  s.Settings.NodeSelector,
			Tolerations:                   tolerations(s.Settings.Tolerations),
			ImagePullSecrets:              pullSecrets(s.Settings.PullSecrets),
			Volumes:                       storage,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				RunAsUser:      new(int64(userID)),
				RunAsGroup:     new(int64(userID)),
				FSGroup:        new(int64(userID)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			InitContainers: []corev1.Container{installer(s, requirements)},
			Containers:     []corev1.Container{agent(s, requirements)},
		},
	}, nil
}

// installer copies gc into a volume. It requests what the agent does, which adds
// nothing to the pod: the two never run together.
func installer(s Spec, requirements corev1.ResourceRequirements) corev1.Container {
	return corev1.Container{
		Name:                     Installer,
		Image:                    cmp.Or(s.GCImage, s.Settings.GCImage, s.Settings.Image),
		ImagePullPolicy:          corev1.PullPolicy(s.Settings.ImagePullPolicy),
		Command:                  []string{inImage, "pod-install", Program},
		Resources:                requirements,
		SecurityContext:          restricted(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: volumeProgram, MountPath: programDir}},
	}
}

func agent(s Spec, requirements corev1.ResourceRequirements) corev1.Container {
	return corev1.Container{
		Name:                     Container,
		Image:                    s.Settings.Image,
		ImagePullPolicy:          corev1.PullPolicy(s.Settings.ImagePullPolicy),
		Command:                  append([]string{Program}, s.Args...),
		WorkingDir:               Work, // deeper ones are made by gc, as the agent's user
		Env:                      environment(s),
		EnvFrom:                  secretVariables(s.Settings.EnvFromSecret),
		Resources:                requirements,
		SecurityContext:          restricted(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             mounts(s.Settings),
	}
}

// restricted is what the Pod Security level of the name demands of a container.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// environment is in the order of the names: one session has one pod.
func environment(s Spec) []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: "HOME", Value: Home}, {Name: "TMPDIR", Value: Temporary}}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if value := s.Env[name]; value != "" && name != "HOME" && name != "PATH" && name != "TMPDIR" {
			// "$$" is "$": a value is never a reference to another variable.
			env = append(env, corev1.EnvVar{Name: name, Value: escape(value)})
		}
	}
	return append(env, corev1.EnvVar{Name: "GC_POD_WORKDIR", Value: escape(cmp.Or(s.WorkDir, Work))})
}

// escape makes text that the kubelet expands back to s.
func escape(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] == '$' {
			out = append(out, '$')
		}
		out = append(out, s[i])
	}
	return string(out)
}

func secretVariables(secrets []string) (from []corev1.EnvFromSource) {
	for _, name := range secrets {
		from = append(from, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
	}
	return from
}

func pullSecrets(secrets []string) (all []corev1.LocalObjectReference) {
	for _, name := range secrets {
		all = append(all, corev1.LocalObjectReference{Name: name})
	}
	return all
}

func tolerations(from []settings.Toleration) (all []corev1.Toleration) {
	for _, t := range from {
		all = append(all, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value, Effect: corev1.TaintEffect(t.Effect),
		})
	}
	return all
}

func resources(s settings.Settings) (corev1.ResourceRequirements, error) {
	requests, err := quantities("requests", s.Requests)
	if err != nil {
		return corev1.ResourceRequirements{}, err
	}
	limits, err := quantities("limits", s.Limits)
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}, err
}

func quantities(key string, amounts map[string]string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for name, amount := range amounts {
		q, err := resource.ParseQuantity(amount)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", key, name, err)
		}
		list[corev1.ResourceName(name)] = q
	}
	return list, nil
}
