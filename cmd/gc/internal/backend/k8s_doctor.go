//go:build k8s

package backend

import (
	"context"

	"gascity.dev/gc/runtime/k8s"
	"gascity.dev/gc/runtime/k8s/settings"
)

// DiagnosePods finds what keeps pods from running as the settings say; withPod also starts
// one, and deletes it.
func DiagnosePods(ctx context.Context, s settings.Settings, withPod bool) ([]PodFinding, error) {
	var list []PodFinding
	for _, f := range k8s.Diagnose(ctx, s, withPod) {
		list = append(list, PodFinding(f))
	}
	return list, nil
}
