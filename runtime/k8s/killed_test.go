//go:build linux && k8s && e2e

package k8s_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/settings"
)

// starterVar has the settings of a process that starts a session, and hangs in it.
const starterVar = "GC_TEST_STARTER"

// hangingStart is that process: it starts a session of the city "killed".
func hangingStart(text string) int {
	var s struct {
		settings.Settings
		Session string
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	p, err := k8s.New(k8s.Options{City: func() (string, bool) { return "killed", true }, Cluster: s.Settings})
	if err == nil {
		err = p.Start(context.Background(), s.Session, runtime.Config{Command: "exec cat", PreStart: []string{"touch /tmp/begun; sleep 1000"}})
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// killedStart: a pod whose start was killed is replaced at once on the machine of that
// start; elsewhere, where nobody knows, it ends by itself soon.
func (c *cluster) killedStart(t *testing.T) {
	for name, known := range map[string]bool{"here": true, "elsewhere": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, c.settings(strict, boxImage), "killed", nil)
			text, err := json.Marshal(map[string]any{"Session": name, "Kubeconfig": c.Kubeconfig, "Namespace": strict, "Image": boxImage,
				"Requests": map[string]string{"cpu": "5m", "memory": "8Mi"}, "NodeLoss": settings.NodeLossReport})
			if err != nil {
				t.Fatal(err)
			}
			starter := exec.Command(os.Args[0])
			starter.Env, starter.Stderr = append(os.Environ(), starterVar+"="+string(text)), os.Stderr
			if err := starter.Start(); err != nil {
				t.Fatal(err)
			}
			end := sync.OnceFunc(func() {
				_ = starter.Process.Kill() // it does not end by itself
				_ = starter.Wait()
			})
			t.Cleanup(end)
			pod := c.podOf(t, "killed", name)
			eventually(t, time.Minute, func() error {
				return c.Kubectl(t.Context(), "-n", strict, "exec", pod, "--", "ls", "/tmp/begun").Run()
			})
			if running, err := p.IsRunning(t.Context(), name); !running || err != nil {
				t.Errorf("while it is being started: %v, %v", running, err)
			}
			if err := p.Start(t.Context(), name, runtime.Config{Command: "exec cat"}); !errors.Is(err, runtime.ErrSessionExists) {
				t.Errorf("a second start beside it: %v", err)
			}
			if !known {
				annotation, value := names.Encode("seen", "yes")
				if out, err := c.Kubectl(t.Context(), "-n", strict, "annotate", "--overwrite", "pod", pod, names.AnnotationStarter+"=other", annotation+"="+value).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				eventually(t, time.Minute, func() error { // the provider knows it, too
					got, err := p.GetMeta(t.Context(), name, "seen")
					if err == nil && got != "yes" {
						err = fmt.Errorf("it has %q", got)
					}
					return err
				})
			}
			end()
			begin := time.Now()
			eventually(t, time.Minute, func() error {
				running, err := p.IsRunning(t.Context(), name)
				if err == nil && running {
					err = errors.New("its name is held")
				}
				return err
			})
			took := time.Since(begin)
			t.Logf("free after %v", took)
			if known && took > time.Second || !known && took < 20*time.Second {
				t.Errorf("the name was free after %v", took)
			}
			start(t, p, name, runtime.Config{Command: "echo second; exec cat"})
			shows(t, p, name, "second")
		})
	}
}

// podOf waits for the pod of a session and returns its name.
func (c *cluster) podOf(t *testing.T, city, session string) (pod string) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		out, err := c.Kubectl(t.Context(), "-n", strict, "get", "pods", "-l", "gascity.dev/city="+city,
			"-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations.gascity\.dev/session-name}{"\n"}{end}`).Output()
		for line := range strings.Lines(string(out)) {
			if name, of, _ := strings.Cut(strings.TrimSpace(line), " "); of == session {
				pod = name
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("session %s has no pod: %q", session, out))
	})
	return pod
}

// twoControllers: processes that start a session at once make one pod, and each knows it.
func (c *cluster) twoControllers(t *testing.T) {
	t.Parallel()
	s := c.settings(strict, boxImage)
	both := []*k8s.Provider{provider(t, s, "both", nil), provider(t, s, "both", nil)}
	var started atomic.Int64
	var starting sync.WaitGroup
	for i := range 6 {
		starting.Go(func() {
			err := both[i%2].Start(t.Context(), "a", runtime.Config{Command: "echo I am $$; exec cat"})
			switch {
			case err == nil:
				started.Add(1)
			case !errors.Is(err, runtime.ErrSessionExists):
				t.Errorf("start %d: %v", i, err)
			}
		})
	}
	starting.Wait()
	if n := started.Load(); n != 1 {
		t.Fatalf("%d starts succeeded", n)
	}
	for i, p := range both {
		shows(t, p, "a", "I am")
		if list, err := p.ListRunning(t.Context(), ""); len(list) != 1 || err != nil {
			t.Errorf("%d has %q, %v", i, list, err)
		}
	}
	if err := both[0].Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func() error {
		if running, err := both[1].IsRunning(t.Context(), "a"); running || err != nil {
			return fmt.Errorf("the other one: %v, %v", running, err)
		}
		return nil
	})
}
