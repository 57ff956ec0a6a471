package backend

import (
	"errors"
	"slices"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/runtime"
)

// pods names the provider of sessions in pods, and begins the name of the machine that
// such a session has for itself: k8s:SESSION.
const pods = config.HostPods

// acpPods is pods for agents that speak the Agent Client Protocol.
const acpPods = config.HostACP + "+" + pods

// podOf is the machine of a session in a pod.
func podOf(session string) string { return pods + ":" + session }

// IsPod reports whether a machine is the pod of a session.
func IsPod(machine string) bool { return strings.HasPrefix(machine, pods+":") }

// PodHost is a provider whose sessions have a pod and a multiplexer each. That of gc-k8s is
// one; it holds the streams.
type PodHost interface {
	// Held returns the streams to the pods of running sessions, by session. The channel
	// is closed at the next change.
	Held() (streams map[string]*link.Link, changed <-chan struct{})
}

// podHosts returns the providers that hold streams to pods: of agents on terminals, and of
// those over ACP.
func (s *Set) podHosts() (hosts []PodHost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, p := range s.made {
		if !config.IsPods(k.name) {
			continue
		}
		if h := hostOf(p); h != nil {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// hostOf looks through wrappers. [runtime.As] would ask for an interface that a pod's own
// provider has, too.
func hostOf(p runtime.Provider) PodHost {
	for p != nil {
		if h, ok := p.(PodHost); ok {
			return h
		}
		w, ok := p.(interface{ Unwrap() runtime.Provider })
		if !ok {
			return nil
		}
		p = w.Unwrap()
	}
	return nil
}

// heldPod returns the held stream to the pod of a session, nil without one.
func (s *Set) heldPod(machine string) *link.Link {
	session, ok := strings.CutPrefix(machine, pods+":")
	if !ok {
		return nil
	}
	for _, h := range s.podHosts() {
		held, _ := h.Held()
		if l := held[session]; l != nil {
			return l
		}
	}
	return nil
}

// HeldPods returns the machines of the pods whose streams this Set holds, sorted, and a
// channel that is closed when they change; nil if none will ever be held.
func (s *Set) HeldPods() ([]string, <-chan struct{}) {
	var machines []string
	var changed <-chan struct{}
	for _, h := range s.podHosts() {
		held, next := h.Held()
		for session := range held {
			machines = append(machines, podOf(session))
		}
		changed = either(changed, next)
	}
	slices.Sort(machines)
	return machines, changed
}

// either returns a channel that is closed when one of two is; a may be nil.
func either(a, b <-chan struct{}) <-chan struct{} {
	if a == nil {
		return b
	}
	closed := make(chan struct{})
	go func() { // until the next change of any pod
		select {
		case <-a:
		case <-b:
		}
		close(closed)
	}()
	return closed
}

// PodFinding is one thing that gc doctor k8s checked.
type PodFinding struct {
	Bad               bool // it keeps pods from running
	About, Text, Hint string
}

// podNamer is a PodHost that knows the pod of each session.
type podNamer interface {
	// PodName returns the name of a session's pod, "" if it has none. It makes no request.
	PodName(session string) string
}

// Where implements controller.Options.Place: the pod of a session.
func (s *Set) Where(host, session string) string {
	if host != pods {
		return host
	}
	for _, h := range s.podHosts() {
		if n, ok := h.(podNamer); ok {
			if name := n.PodName(session); name != "" {
				return pods + ":" + name
			}
		}
	}
	return host
}

// errNoStream is why a pod cannot be reached through a controller.
var errNoStream = errors.New("the city's controller holds no stream to the pod")
