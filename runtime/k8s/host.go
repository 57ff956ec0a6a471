//go:build k8s

package k8s

import (
	"fmt"
	"strings"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
)

// Elsewhere is the error of a city whose pods belong to a controller on another machine: its
// directory was copied, and two controllers would fight over the agents. It matches
// runtime.ErrBackendUnreachable: neither is anything said about those pods, nor done to them.
type Elsewhere struct{ Host, Namespace, City string }

// Error is one line.
func (e *Elsewhere) Error() string {
	host, _, _ := strings.Cut(e.Host, "/")
	return fmt.Sprintf("%v: the city's pods belong to its controller on %s", runtime.ErrBackendUnreachable, host)
}

// Hint is the next step.
func (e *Elsewhere) Hint() string {
	labels := names.LabelCity + "=" + names.CitySelector(e.City)[names.LabelCity]
	return "gc stop there; if that machine is gone: kubectl -n " + e.Namespace + " annotate pods -l " + labels + " " + names.AnnotationHost + "-"
}

// Is makes errors.Is(err, runtime.ErrBackendUnreachable) true.
func (e *Elsewhere) Is(target error) bool { return target == runtime.ErrBackendUnreachable }

// locate finds out whether pods of the city that have not ended belong to another machine.
func (p *Provider) locate() {
	all, err := p.pods.List()
	if err != nil {
		return
	}
	var found *Elsewhere
	for _, pod := range all {
		if host := pod.Annotations[names.AnnotationHost]; podstate.Running(pod) && !sameHost(host, p.o.Host) {
			found = &Elsewhere{Host: host, Namespace: p.o.Cluster.Namespace, City: p.city}
		}
	}
	p.elsewhere.Store(found)
}

// sameHost compares two machines by what identifies them, which follows a slash, else by
// their names. One that is not known is any.
func sameHost(a, b string) bool {
	nameA, idA, _ := strings.Cut(a, "/")
	nameB, idB, _ := strings.Cut(b, "/")
	if idA != "" && idB != "" {
		return idA == idB
	}
	return a == "" || b == "" || nameA == nameB
}
