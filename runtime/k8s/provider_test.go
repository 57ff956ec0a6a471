//go:build k8s

package k8s_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s"
	"gascity.dev/gc/runtime/k8s/settings"
)

// nobody is the configuration of a cluster that does not answer.
const nobody = `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
"contexts": [{"name": "c", "context": {"cluster": "c"}}]}`

func unreached(t *testing.T, city string, known bool) *k8s.Provider {
	t.Helper()
	return configured(t, nobody, k8s.Options{}, city, known)
}

// configured returns a provider for the cluster of a kubeconfig.
func configured(t *testing.T, kubeconfig string, o k8s.Options, city string, known bool) *k8s.Provider {
	t.Helper()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	o.City = func() (string, bool) { return city, known }
	o.Cluster = settings.Settings{Kubeconfig: config, Namespace: "ns", Image: "box"}.Resolve(func(string) string { return "" })
	p, err := k8s.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// A cluster that does not answer is unknown, and a city that was never started has no pods.
func TestUnreached(t *testing.T) {
	p := unreached(t, "c1", true)
	for what, call := range map[string]func() error{
		"IsRunning":   func() error { _, err := p.IsRunning(t.Context(), "a"); return err },
		"ListRunning": func() error { _, err := p.ListRunning(t.Context(), ""); return err },
		"GetMeta":     func() error { _, err := p.GetMeta(t.Context(), "a", "k"); return err },
		"LastExit":    func() error { _, err := p.LastExit(t.Context(), "a"); return err },
		"Peek":        func() error { _, err := p.Peek(t.Context(), "a", 0); return err },
		"Interrupt":   func() error { return p.Interrupt(t.Context(), "a") },
		"Stop":        func() error { return p.Stop(t.Context(), "a") },
		"Start":       func() error { return p.Start(t.Context(), "a", runtime.Config{Command: "cat"}) },
		"Events":      func() error { _, err := p.Events(t.Context()); return err },
	} {
		if err := call(); !errors.Is(err, runtime.ErrBackendUnreachable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	never := unreached(t, "", false)
	if running, err := never.IsRunning(t.Context(), "a"); running || err != nil {
		t.Errorf("%v, %v", running, err)
	}
	if _, err := never.Peek(t.Context(), "a", 0); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("peek: %v", err)
	}
	if err := never.Start(t.Context(), "a", runtime.Config{Command: "cat"}); err == nil || errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("start: %v", err)
	}
}

// What is wrong with the configuration of the cluster is one line with the next step.
func TestNoCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(nobody), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	for name, c := range map[string]struct {
		s         settings.Settings
		err, hint string
	}{
		"none":    {settings.Settings{}, "kubernetes: no cluster is configured", "kubeconfig in [session.k8s]"},
		"context": {settings.Settings{Kubeconfig: file, Context: "nope"}, `context "nope" does not exist`, "kubectl config get-contexts"},
		"file":    {settings.Settings{Kubeconfig: file + ".not"}, "no such file", "kubeconfig in [session.k8s]"},
	} {
		_, err := k8s.New(k8s.Options{Cluster: c.s})
		if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var h interface{ Hint() string }
		if !errors.As(err, &h) || !strings.Contains(h.Hint(), c.hint) {
			t.Errorf("%s: no hint %q", name, c.hint)
		}
	}
}

// A cluster that hangs delays the first question, not each of many.
func TestHangs(t *testing.T) {
	const wait = 500 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	p := configured(t, strings.Replace(nobody, "http://127.0.0.1:1", server.URL, 1), k8s.Options{FirstAnswer: wait}, "c1", true)
	begin := time.Now()
	for range 10 {
		if _, err := p.IsRunning(t.Context(), "a"); !errors.Is(err, runtime.ErrBackendUnreachable) {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took < wait || took > 4*wait {
		t.Errorf("ten questions took %v", took)
	}
}

// The interfaces are those of a multiplexer, and the streams.
func TestInterfaces(t *testing.T) {
	var p runtime.Provider = unreached(t, "c1", true)
	_, held := runtime.As[interface {
		Held() (map[string]*link.Link, <-chan struct{})
	}](p)
	_, waits := runtime.As[runtime.Waiter](p)
	_, talks := runtime.As[runtime.ConversationProvider](p)
	_, serves := runtime.As[runtime.ServerLifecycleProvider](p)
	if !held || !waits || talks || !serves {
		t.Errorf("Held %v, Waiter %v, ConversationProvider %v, ServerLifecycleProvider %v", held, waits, talks, serves)
	}
}
