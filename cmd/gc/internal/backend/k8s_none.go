//go:build !k8s

package backend

import (
	"context"
	"os"
	"syscall"

	"gascity.dev/gc/cmd/gc/internal/cli"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/settings"
)

// newK8s returns the provider of sessions in pods over the streams of the city's
// controller. Without one, gc-k8s takes over this process: only it has a client of
// Kubernetes.
func newK8s(s *Set, city string) (runtime.Provider, error) { return s.k8s(city, pods) }

// newK8sACP is newK8s for agents that speak ACP.
func newK8sACP(s *Set, city string) (runtime.Provider, error) { return s.k8s(city, acpPods) }

func (s *Set) k8s(city, name string) (runtime.Provider, error) {
	if s.Through != nil && city != "" {
		if c, err := cityapi.Dial(city); err == nil {
			_ = c.Close()
			return newThroughPods(s, city, name)
		}
	}
	if s.NoExec {
		return nil, cli.Fail(cli.ExitUnsupported, "gc stop, then gc start", "this controller was started without agents in pods, and cannot host them")
	}
	return nil, BecomeK8s()
}

// BecomeK8s executes gc-k8s in place of this process, with the same arguments. It returns
// only why that failed.
func BecomeK8s() error {
	path, err := self.WithPods()
	if err != nil {
		return cli.Fail(cli.ExitUnsupported, "put it into the same directory as gc (make build builds both)", "agents in pods require gc-k8s: %v", err)
	}
	return syscall.Exec(path, os.Args, os.Environ())
}

// DiagnosePods executes gc-k8s.
func DiagnosePods(context.Context, settings.Settings, bool) ([]PodFinding, error) {
	return nil, BecomeK8s()
}
