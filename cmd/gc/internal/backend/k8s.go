//go:build k8s

package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s"
	"gascity.dev/gc/runtime/k8s/settings"
)

var (
	_ PodHost  = (*k8s.Provider)(nil)
	_ podNamer = (*k8s.Provider)(nil)
)

// newK8s returns the provider of sessions in pods. Without a city, settings are those of
// the environment.
func newK8s(s *Set, city string) (runtime.Provider, error) { return s.k8s(city, false) }

// newK8sACP is newK8s for agents that speak ACP.
func newK8sACP(s *Set, city string) (runtime.Provider, error) { return s.k8s(city, true) }

func (s *Set) k8s(city string, overACP bool) (runtime.Provider, error) {
	o := k8s.Options{Version: s.Version, Report: s.startStep, MakeWorkDir: true, ACP: overACP}
	if city == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, err
		}
		o.City = func() (string, bool) { return fmt.Sprintf("no city: user %d on %s", os.Getuid(), host), true }
		o.Cluster = settings.Settings{}.Resolve(os.Getenv)
		return k8s.New(o)
	}
	dir := cityPath(city)
	o.City = func() (string, bool) {
		id, ok := config.ReadIdentity(dir)
		return id.ID, ok
	}
	o.Host = machine()
	o.Pin = filepath.Join(dir, ".gc", "namespace-uid")
	var err error
	if o.Cluster, err = podSettings(dir, ""); err != nil {
		return nil, err
	}
	o.Settings = func(_ string, cfg runtime.Config) (settings.Settings, error) {
		return podSettings(dir, cfg.Env["GC_TEMPLATE"])
	}
	return k8s.New(o)
}

// machine identifies this machine: by its name alone where the system has no id for it, as in
// a pod. "" if it has no name.
func machine() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	id, err := os.ReadFile("/etc/machine-id") // machine-id(5): it is to be hashed before others see it
	if text := strings.TrimSpace(string(id)); err == nil && text != "" {
		sum := sha256.Sum256([]byte("gc " + text))
		name += "/" + hex.EncodeToString(sum[:8])
	}
	return name
}

// podSettings returns how the pods of an agent are made, as the configuration says now;
// those of the city for "".
func podSettings(dir, template string) (settings.Settings, error) {
	city, err := config.Load(dir)
	if err != nil {
		return settings.Settings{}, err
	}
	return city.Pod(template, os.Environ())
}

// BecomeK8s does nothing: this is gc-k8s.
func BecomeK8s() error { return nil }
