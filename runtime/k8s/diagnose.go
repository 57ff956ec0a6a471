//go:build k8s

package k8s

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"gascity.dev/gc/runtime/k8s/internal/diagnose"
	"gascity.dev/gc/runtime/k8s/settings"
)

// Finding is one thing that Diagnose checked.
type Finding = diagnose.Finding

// Diagnose finds what keeps pods from running as the settings, resolved and checked, say.
// withPod also starts one, and deletes it.
func Diagnose(ctx context.Context, s settings.Settings, withPod bool) []Finding {
	config, err := restConfig(s)
	if err != nil {
		return []Finding{{Bad: true, About: "cluster", Text: err.Error(), Hint: "set kubeconfig or context in [session.k8s], or KUBECONFIG"}}
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return []Finding{{Bad: true, About: "cluster", Text: err.Error()}}
	}
	c := diagnose.Check{Client: client, Server: config.Host, Settings: s, WithPod: withPod}
	return c.Run(ctx)
}
