//go:build k8s

package podspec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"gascity.dev/gc/runtime/k8s/settings"
)

// The names of a pod's volumes.
const (
	volumeProgram   = "gc"
	volumeHome      = "home"
	volumeTemporary = "tmp"
	volumeWork      = "workspace"
	volumeSecret    = "secret-" // and a number
)

func volumes(s settings.Settings) ([]corev1.Volume, error) {
	work := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if s.Workspace.Size != "" {
		size, err := resource.ParseQuantity(s.Workspace.Size)
		if err != nil {
			return nil, fmt.Errorf("workspace.size: %w", err)
		}
		work.EmptyDir.SizeLimit = &size
	}
	if s.Workspace.Claim != "" {
		work = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.Workspace.Claim}}
	}
	all := []corev1.Volume{empty(volumeProgram), empty(volumeHome), empty(volumeTemporary), {Name: volumeWork, VolumeSource: work}}
	for i, at := range secretPaths(s) {
		all = append(all, corev1.Volume{
			Name:         volumeSecret + strconv.Itoa(i),
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s.SecretMounts[at]}},
		})
	}
	return all, nil
}

func empty(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func mounts(s settings.Settings) []corev1.VolumeMount {
	all := []corev1.VolumeMount{
		{Name: volumeProgram, MountPath: programDir, ReadOnly: true},
		{Name: volumeHome, MountPath: Home},
		{Name: volumeTemporary, MountPath: Temporary},
		{Name: volumeWork, MountPath: Work},
	}
	for i, at := range secretPaths(s) {
		all = append(all, corev1.VolumeMount{Name: volumeSecret + strconv.Itoa(i), MountPath: at, ReadOnly: true})
	}
	return all
}

func secretPaths(s settings.Settings) []string { return slices.Sorted(maps.Keys(s.SecretMounts)) }
