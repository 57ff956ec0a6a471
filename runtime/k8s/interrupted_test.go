//go:build linux && k8s && e2e

package k8s_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// interrupted is a city with agents whose pods others end.
var interrupted = inPods("interrupted", `
[[agents]]
name = "removed"
session = "k8s"
start_command = "echo I am here; exec cat"
[[agents]]
name = "evicted"
session = "k8s"
start_command = "echo I am here; exec cat"
`)

// interruptions: an agent whose pod was deleted by hand, or evicted as a drain of its node
// does, gets another one; it is told what happened, and that is no failure of the agent.
func (c *cluster) interruptions(t *testing.T) {
	t.Parallel()
	g := c.newCity(t, interrupted)
	g.must(t, "start")
	for name, end := range map[string]func(pod string){
		"removed": func(pod string) {
			if out, err := c.Kubectl(t.Context(), "-n", strict, "delete", "pod", pod, "--grace-period=1", "--wait=false").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		},
		"evicted": func(pod string) {
			err := c.Call(t.Context(), http.MethodPost, "/api/v1/namespaces/"+strict+"/pods/"+pod+"/eviction", object{
				"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": pod, "namespace": strict},
				"deleteOptions": object{"gracePeriodSeconds": 1},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		g.nudges(t, name, "first")
		end(strings.TrimPrefix(g.agent(t, name).Host, "k8s:"))
		eventually(t, time.Minute, func() error {
			if ag := g.agent(t, name); ag.LastExit == nil || ag.State != api.StateRunning {
				return fmt.Errorf("%s: %+v", name, ag)
			}
			return nil
		})
		g.nudges(t, name, "second")
		if out := g.must(t, "peek", name); strings.Contains(out, "first") {
			t.Errorf("%s was not replaced: %q", name, out)
		}
		if ag := g.agent(t, name); !ag.LastExit.Disrupted || ag.LastExit.Reason == runtime.ReasonStopped || ag.Restarts != 0 {
			t.Errorf("%s: %d restarts, exit %+v", name, ag.Restarts, ag.LastExit)
		}
	}
	events := g.must(t, "events")
	t.Log(events)
	for _, want := range []string{`removed exited, .*pod deleted`, `evicted exited, .*(EvictionByEvictionAPI|pod deleted)`} {
		if !regexp.MustCompile(want).MatchString(events) {
			t.Errorf("no %q in the events", want)
		}
	}
}

// full is a city with an agent that no node has room for, and one that runs here.
var full = inPods("full", `
[[agents]]
name = "large"
session = "k8s"
start_command = "exec cat"
[agents.k8s]
requests = {cpu = "1000"}
[[agents]]
name = "here"
start_command = "echo I am here; exec cat"
`)

// noRoom: gc start and gc status say why an agent waits for a quota or for a node; the
// others run, and with room it runs, too.
func (c *cluster) noRoom(t *testing.T) {
	t.Parallel()
	c.namespace(t.Context(), t, "narrow", nil)
	at := "/api/v1/namespaces/narrow/resourcequotas"
	err := c.Call(t.Context(), http.MethodPost, at, object{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": object{"name": "none"}, "spec": object{"hard": object{"pods": "0"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func() error { // it counts once its status is there
		out, err := c.Kubectl(t.Context(), "-n", "narrow", "get", "resourcequota", "none", "-o", "jsonpath={.status.hard.pods}").Output()
		if err == nil && string(out) != "0" {
			err = fmt.Errorf("quota: %q", out)
		}
		return err
	})
	g := c.newCity(t, strings.ReplaceAll(town, `namespace = "strict"`, `namespace = "narrow"`))
	out, err := g.run("start")
	t.Log(out)
	if err == nil || !strings.Contains(out, "exceeded quota") || !strings.Contains(out, "raise the quota") {
		t.Errorf("gc start: %v", err)
	}
	g.until(t, "I am here", "peek", "here")
	if out := g.must(t, "status"); !strings.Contains(out, "exceeded quota") {
		t.Errorf("gc status: %s", out)
	}
	if out, err := c.Kubectl(t.Context(), "-n", "narrow", "delete", "resourcequota", "none").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if ag := g.becomes(t, "pod", api.StateRunning); ag.Restarts != 0 {
		t.Errorf("%d restarts", ag.Restarts)
	}

	g = c.newCity(t, full)
	started := make(chan string, 1)
	go func() { out, err := g.run("start"); started <- fmt.Sprint(out, err) }()
	g.until(t, "I am here", "peek", "here")
	status := g.until(t, "Insufficient cpu", "status")
	t.Log(status)
	if ag := g.agent(t, "large"); ag.State != api.StateStarting || ag.Restarts != 0 {
		t.Errorf("large: %+v", ag)
	}
	g.must(t, "stop")
	t.Log(<-started)
}

// copied: a copy of a city's directory on another machine leaves the city's pods alone until
// its own controller is gone.
func (c *cluster) copied(t *testing.T) {
	t.Parallel()
	g := c.newCity(t, town)
	g.must(t, "start")
	g.nudges(t, "pod", "first")
	uid := c.uidOf(t, g)

	other := c.newCity(t, town)
	id, ok := config.ReadIdentity(g.dir)
	if !ok {
		t.Fatal("no identity")
	}
	id.Path = "/on/the/other/machine"
	data, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(other.dir, ".gc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config.IdentityPath(other.dir), data, 0o600); err != nil {
		t.Fatal(err)
	}
	machine := filepath.Join(t.TempDir(), "machine-id")
	if err := os.WriteFile(machine, []byte("0123456789abcdef0123456789abcdef\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`#!/bin/sh
exec unshare --mount --uts sh -c 'hostname elsewhere; [ ! -e /etc/machine-id ] || mount --bind %s /etc/machine-id; exec "$0" "$@"' %s "$@"
`, machine, c.gc)
	other.path = filepath.Join(t.TempDir(), "gc-elsewhere")
	if err := os.WriteFile(other.path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := "the city's pods belong to its controller on " + host

	out, err := other.run("start")
	t.Log(out)
	if err == nil || !strings.Contains(out, want) || !strings.Contains(out, "hint: gc stop there") {
		t.Errorf("gc start of the copy: %v", err)
	}
	other.until(t, "I am here", "peek", "here") // the other agents run
	if ag := other.becomes(t, "pod", api.StateUnknown); !strings.Contains(ag.Error, want) {
		t.Errorf("%+v", ag)
	}
	other.must(t, "stop") // what is its own
	g.nudges(t, "pod", "second")
	if now := c.uidOf(t, g); now != uid {
		t.Errorf("pod %s, was %s", now, uid)
	}

	g.must(t, "stop")
	if out, err := other.run("start"); err != nil { // the pod may not be gone yet
		t.Log(out)
	}
	other.becomes(t, "pod", api.StateRunning)
	other.nudges(t, "pod", "third")
	if out, err := g.run("start"); err == nil || !strings.Contains(out, "controller on elsewhere") {
		t.Errorf("gc start of the first: %v, %s", err, out)
	}
	other.must(t, "stop")
}

// uidOf returns the UID of the pod of the agent "pod".
func (c *cluster) uidOf(t *testing.T, g gcBin) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), "-n", strict, "get", "pod", strings.TrimPrefix(g.agent(t, "pod").Host, "k8s:"), "-o", "jsonpath={.metadata.uid}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
