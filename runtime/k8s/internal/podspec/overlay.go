//go:build k8s

package podspec

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// Overlay applies a strategic merge patch, YAML or JSON, to a pod that Build
// made. A patch that changes what gc depends on, or names a field that pods do not
// have, is an error that names it. The pod itself is not changed.
func Overlay(built *corev1.Pod, patch []byte) (*corev1.Pod, error) {
	patchJSON, err := yaml.YAMLToJSONStrict(patch)
	if err != nil {
		return nil, fmt.Errorf("pod_overlay: %w", err)
	}
	original, err := json.Marshal(built)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(original, patchJSON, corev1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("pod_overlay: %w", err)
	}
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(merged, pod); err != nil {
		return nil, fmt.Errorf("pod_overlay: %w", err)
	}
	return pod, check(built, pod)
}

// check compares the fields that gc depends on.
func check(built, pod *corev1.Pod) error {
	for _, f := range fields(built, pod) {
		if !equality.Semantic.DeepEqual(f.want, f.got) {
			return fmt.Errorf("pod_overlay: %s is set by gc and cannot be changed", f.name)
		}
	}
	for _, c := range built.Spec.Containers {
		if err := checkContainer("containers", c, pod.Spec.Containers); err != nil {
			return err
		}
	}
	for _, c := range built.Spec.InitContainers {
		if err := checkContainer("initContainers", c, pod.Spec.InitContainers); err != nil {
			return err
		}
	}
	for _, v := range built.Spec.Volumes {
		// An overlay may keep the home directory on a disk, but not remove it.
		if !slices.ContainsFunc(pod.Spec.Volumes, func(o corev1.Volume) bool { return o.Name == v.Name }) {
			return fmt.Errorf("pod_overlay: the volume %s is needed by gc", v.Name)
		}
	}
	return nil
}

type field struct {
	name      string
	want, got any
}

func fields(built, pod *corev1.Pod) []field {
	all := []field{
		{"apiVersion", built.APIVersion, pod.APIVersion},
		{"kind", built.Kind, pod.Kind},
		{"metadata.name", built.Name, pod.Name},
		{"metadata.namespace", built.Namespace, pod.Namespace},
		{"spec.restartPolicy", built.Spec.RestartPolicy, pod.Spec.RestartPolicy},
	}
	for name, value := range built.Labels {
		all = append(all, field{"the label " + name, value, pod.Labels[name]})
	}
	for name, value := range built.Annotations {
		all = append(all, field{"the annotation " + name, value, pod.Annotations[name]})
	}
	return all
}

func checkContainer(list string, built corev1.Container, all []corev1.Container) error {
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == built.Name })
	if i < 0 {
		return fmt.Errorf("pod_overlay: the container %s is needed by gc", built.Name)
	}
	got := all[i]
	for _, f := range []field{
		{"command", built.Command, got.Command},
		{"args", built.Args, got.Args},
		{"workingDir", built.WorkingDir, got.WorkingDir},
		{"terminationMessagePolicy", built.TerminationMessagePolicy, got.TerminationMessagePolicy},
	} {
		if !equality.Semantic.DeepEqual(f.want, f.got) {
			return fmt.Errorf("pod_overlay: spec.%s[%s].%s is set by gc and cannot be changed", list, built.Name, f.name)
		}
	}
	for _, m := range built.VolumeMounts {
		if !slices.ContainsFunc(got.VolumeMounts, func(o corev1.VolumeMount) bool { return equality.Semantic.DeepEqual(m, o) }) {
			return fmt.Errorf("pod_overlay: spec.%s[%s] needs its mount at %s", list, built.Name, m.MountPath)
		}
	}
	for _, v := range built.Env {
		if !slices.ContainsFunc(got.Env, func(o corev1.EnvVar) bool { return o.Name == v.Name && o.Value == v.Value }) {
			return fmt.Errorf("pod_overlay: spec.%s[%s]: the variable %s is set by gc and cannot be changed", list, built.Name, v.Name)
		}
	}
	return nil
}
