//go:build linux && k8s && e2e

package k8s_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s"
	"gascity.dev/gc/runtime/k8s/settings"
)

type object = map[string]any

// faults are tests of what goes wrong in a cluster.
func faults(t *testing.T, c *cluster) {
	t.Run("Troubles", c.troubles)
	t.Run("TwoCities", c.twoCities)
	t.Run("Metadata", c.metadata)
	t.Run("DeletedByHand", c.deletedByHand)
	t.Run("Forbidden", c.forbidden)
	t.Run("OtherCluster", c.otherCluster)
	t.Run("Cuts", c.cuts)
	t.Run("Together", func(t *testing.T) {
		t.Run("KilledStart", c.killedStart)
		t.Run("TwoControllers", c.twoControllers)
		t.Run("Refused", c.refused)
		t.Run("Disruptions", c.disruptions)
		t.Run("Interruptions", c.interruptions)
		t.Run("NoRoom", c.noRoom)
		t.Run("Copied", c.copied)
	})
	t.Run("APIServerAway", c.apiServerAway)
	t.Run("NodeLost", c.nodeLost)
}

// start starts a session that is ended with the test.
func start(t *testing.T, p runtime.Provider, name string, cfg runtime.Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Start(ctx, name, cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		eventually(t, time.Minute, func() error { return p.Stop(ctx, name) }) // the watch may just be broken
	})
}

// eventually calls f until it returns nil.
func eventually(t *testing.T, limit time.Duration, f func() error) {
	t.Helper()
	end := time.After(limit)
	for tick := time.Tick(20 * time.Millisecond); ; {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-tick:
		case <-end:
			t.Fatal(err)
		}
	}
}

func shows(t *testing.T, p runtime.Provider, name, text string) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		got, err := p.Peek(t.Context(), name, 0)
		if err == nil && !strings.Contains(got, text) {
			err = fmt.Errorf("no %q in %q", text, got)
		}
		return err
	})
}

// atOnce is longer than a node takes to send an event, and shorter than it takes to report
// the state of a container that does not start.
const atOnce = 8 * time.Second

// troubles: a pod that cannot run fails its start with the cluster's reason, at once where
// waiting does not help, and leaves nothing.
func (c *cluster) troubles(t *testing.T) {
	quota := "quota"
	c.namespace(t.Context(), t, quota, nil)
	err := c.Call(t.Context(), http.MethodPost, "/api/v1/namespaces/"+quota+"/resourcequotas", object{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": object{"name": "none"}, "spec": object{"hard": object{"pods": "0"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]struct {
		change func(*settings.Settings)
		want   []string
		busy   bool
	}{
		"image": {func(s *settings.Settings) { s.Image = "127.0.0.1:1/none:1"; s.GCImage = boxImage }, []string{"ImagePull", "127.0.0.1:1"}, false},
		"never": {func(s *settings.Settings) {
			s.Image = "gc.local/none:1"
			s.GCImage = boxImage
			s.ImagePullPolicy = "Never"
		}, []string{"ErrImageNeverPull"}, false},
		"secret": {func(s *settings.Settings) { s.EnvFromSecret = []string{"no-such-secret"} }, []string{"no-such-secret"}, false},
		"mount": {func(s *settings.Settings) {
			s.SecretMounts = map[string]string{"/secret": "no-such-secret"}
		}, []string{"FailedMount", "no-such-secret"}, false},
		"claim":    {func(s *settings.Settings) { s.Workspace.Claim = "no-such-claim" }, []string{"Unschedulable", "no-such-claim"}, true},
		"cpu":      {func(s *settings.Settings) { s.Requests["cpu"] = "1000" }, []string{"Unschedulable", "Insufficient cpu"}, true},
		"quota":    {func(s *settings.Settings) { s.Namespace = quota }, []string{"exceeded quota"}, true},
		"bad name": {func(s *settings.Settings) { s.Image = "No Image" }, []string{"No Image"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.settings(strict, boxImage)
			f.change(&s)
			p := provider(t, s, "troubles", func(o *k8s.Options) { o.ScheduleLimit = 2 * time.Second })
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
			defer cancel()
			begin := time.Now()
			err := p.Start(ctx, "a", runtime.Config{Command: "exec cat"})
			took := time.Since(begin)
			t.Logf("%v after %v", err, took)
			if took > atOnce {
				t.Errorf("it took %v", took)
			}
			if err == nil || ctx.Err() != nil {
				t.Fatalf("start: %v", err)
			}
			for _, want := range f.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v lacks %q", err, want)
				}
			}
			if errors.Is(err, runtime.ErrBackendBusy) != f.busy || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q; busy %v", err, !f.busy)
			}
			if running, err := p.IsRunning(t.Context(), "a"); running || err != nil {
				t.Errorf("after it: %v, %v", running, err)
			}
		})
	}
}

// twoCities: cities share a namespace without seeing each other.
func (c *cluster) twoCities(t *testing.T) {
	s := c.settings(strict, boxImage)
	one, two := provider(t, s, "one", nil), provider(t, s, "two", nil)
	long := strings.Repeat("x", 200)
	start(t, one, long, runtime.Config{Command: "echo I am one; exec cat"})
	start(t, two, long, runtime.Config{Command: "echo I am two; exec cat"})
	shows(t, one, long, "I am one")
	shows(t, two, long, "I am two")
	if err := two.Stop(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if list, err := one.ListRunning(t.Context(), ""); len(list) != 1 || err != nil {
		t.Errorf("one has %q, %v", list, err)
	}
	if list, err := two.ListRunning(t.Context(), ""); len(list) != 0 || err != nil {
		t.Errorf("two has %q, %v", list, err)
	}
}

// metadata: what is too large is refused and changes nothing; the rest outlives the agent.
func (c *cluster) metadata(t *testing.T) {
	p := provider(t, c.settings(strict, boxImage), "metadata", nil)
	start(t, p, "a", runtime.Config{Command: "read x; exit 3"})
	if err := p.SetMeta(t.Context(), "a", "k", strings.Repeat("v", 200<<10)); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("200 KiB: %v", err)
	}
	value := strings.Repeat("\xff\x00", 32<<10)
	if err := p.SetMeta(t.Context(), "a", "k", value); err != nil {
		t.Fatal(err)
	}
	if err := p.SendKeys(t.Context(), "a", "Enter"); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func() error {
		if running, err := p.IsRunning(t.Context(), "a"); running || err != nil {
			return fmt.Errorf("running: %v, %v", running, err)
		}
		return nil
	})
	if got, err := p.GetMeta(t.Context(), "a", "k"); got != value || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if e, err := p.LastExit(t.Context(), "a"); err != nil || e == nil || e.Code != 3 {
		t.Errorf("%+v, %v", e, err)
	}
}

// deletedByHand: somebody else's deletion is the end of the session, and it is told.
func (c *cluster) deletedByHand(t *testing.T) {
	p := provider(t, c.settings(strict, boxImage), "by-hand", nil)
	start(t, p, "a", runtime.Config{Command: "exec cat"})
	events, err := p.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.Kubectl(t.Context(), "-n", strict, "delete", "pod", "-l", "app.kubernetes.io/managed-by=gc,gascity.dev/city=by-hand", "--grace-period=1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for e := range events {
		if e.Kind == runtime.EventExited {
			if e.Session != "a" || e.Exit == nil {
				t.Errorf("%+v", e)
			}
			break
		}
	}
	eventually(t, time.Minute, func() error {
		if running, err := p.IsRunning(t.Context(), "a"); running || err != nil {
			return fmt.Errorf("running: %v, %v", running, err)
		}
		return nil
	})
	start(t, p, "a", runtime.Config{Command: "exec cat"})
}

// right is a permission that a controller needs.
type right struct{ verb, resource, group string }

var rights = []right{
	{"get", "namespaces", ""}, {"watch", "pods", ""}, {"create", "pods", ""}, {"patch", "pods", ""}, {"delete", "pods", ""}, {"create", "pods/exec", ""},
}

// forbidden: each permission that is missing is named by the error of what needs it.
func (c *cluster) forbidden(t *testing.T) {
	for i, missing := range rights {
		t.Run(missing.verb+" "+missing.resource, func(t *testing.T) {
			t.Parallel()
			s := c.settings(strict, boxImage)
			s.Kubeconfig = c.account(t, fmt.Sprintf("account-%d", i), missing)
			p := provider(t, s, fmt.Sprintf("forbidden-%d", i), nil)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := p.Start(ctx, "a", runtime.Config{Command: "exec cat"})
			if err == nil {
				err = p.Stop(ctx, "a")
			}
			if ctx.Err() != nil {
				t.Errorf("it took all the time: %v", err)
			}
			if want := fmt.Sprintf("cannot %s resource %q", missing.verb, missing.resource); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v lacks %q", err, want)
			}
		})
	}
}

// account makes a service account with all permissions of the Role but one, and returns its
// kubeconfig.
func (c *cluster) account(t *testing.T, name string, missing right) string {
	t.Helper()
	verbs := func(resource string, all ...string) object {
		var left []string
		for _, v := range all {
			if v != missing.verb || resource != missing.resource {
				left = append(left, v)
			}
		}
		if len(left) == 0 {
			left = []string{"nothing"}
		}
		return object{"apiGroups": []string{""}, "resources": []string{resource}, "verbs": left}
	}
	exec := verbs("pods/exec", "get", "create")
	if missing.resource == "pods/exec" {
		exec["verbs"] = []string{"nothing"}
	}
	at, rbac := "/api/v1/namespaces/"+strict, "/apis/rbac.authorization.k8s.io/v1/namespaces/"+strict
	for path, o := range map[string]object{
		at + "/serviceaccounts": {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"name": name}},
		rbac + "/roles": {
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": object{"name": name},
			"rules": []object{
				verbs("namespaces", "get"), verbs("pods", "get", "list", "watch", "create", "patch", "delete"), exec,
				verbs("events", "get", "list", "watch"), verbs("pods/log", "get"),
			},
		},
		rbac + "/rolebindings": {
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": object{"name": name},
			"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
			"subjects": []object{{"kind": "ServiceAccount", "name": name, "namespace": strict}},
		},
	} {
		if err := c.Call(t.Context(), http.MethodPost, path, o, nil); err != nil {
			t.Fatal(err)
		}
	}
	token, err := c.Kubectl(t.Context(), "-n", strict, "create", "token", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	data, err := os.ReadFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"config", "set-credentials", "limited", "--token=" + strings.TrimSpace(string(token))},
		{"config", "set-context", "--current", "--user=limited"},
	} {
		cmd := c.Kubectl(t.Context(), append([]string{"--kubeconfig", path}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return path
}

// otherCluster: a context that was switched to another cluster answers nothing.
func (c *cluster) otherCluster(t *testing.T) {
	pin := filepath.Join(t.TempDir(), "namespace-uid")
	pinned := func(o *k8s.Options) { o.Pin = pin }
	p := provider(t, c.settings(strict, boxImage), "pinned", pinned)
	start(t, p, "a", runtime.Config{Command: "exec cat"})
	other := provider(t, c.settings(shared, boxImage), "pinned", pinned) // as good as another cluster
	_, err := other.IsRunning(t.Context(), "a")
	var o *k8s.OtherCluster
	if !errors.Is(err, runtime.ErrBackendUnreachable) || !errors.As(err, &o) {
		t.Errorf("IsRunning: %v", err)
	}
	if err := other.Stop(t.Context(), "a"); !errors.As(err, &o) {
		t.Errorf("Stop: %v", err)
	}
}
