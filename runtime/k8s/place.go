//go:build k8s

package k8s

import "gascity.dev/gc/runtime/k8s/internal/names"

// PodName returns the name of a session's pod, for people; "" if it has none, or that is not
// known. It makes no request.
func (p *Provider) PodName(session string) string {
	if !p.ready.Load() {
		return ""
	}
	pod, err := p.pods.Get(names.Pod(p.city, session))
	if err != nil || pod == nil {
		return ""
	}
	return pod.Name
}
