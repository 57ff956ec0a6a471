//go:build linux && k8s && e2e

package k8s_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/internal/testenv/k8snode"
	"gascity.dev/gc/runtime"
)

// agent returns the status of an agent.
func (g gcBin) agent(t *testing.T, name string) api.AgentStatus {
	t.Helper()
	var status api.Status
	if err := json.Unmarshal([]byte(g.must(t, "status", "--json")), &status); err != nil {
		t.Fatal(err)
	}
	for _, ag := range status.Agents {
		if ag.Name == name {
			return ag
		}
	}
	t.Fatalf("no agent %s in %+v", name, status)
	return api.AgentStatus{}
}

// becomes waits for a state of an agent.
func (g gcBin) becomes(t *testing.T, name string, want api.State) api.AgentStatus {
	t.Helper()
	var ag api.AgentStatus
	eventually(t, 2*time.Minute, func() error {
		if ag = g.agent(t, name); ag.State != want {
			return fmt.Errorf("%s is %s, want %s: %s", name, ag.State, want, ag.Error)
		}
		return nil
	})
	return ag
}

// nudges types into an agent as soon as it is reached, and sees the text.
func (g gcBin) nudges(t *testing.T, name, text string) {
	t.Helper()
	eventually(t, 90*time.Second, func() error { _, err := g.run("nudge", name, text); return err })
	g.until(t, text, "peek", name)
}

// apiServerAway: unknown while nobody answers, nothing is restarted, and then all is there
// over new streams. The soak has the minute that a city takes to say so.
func (c *cluster) apiServerAway(t *testing.T) {
	outage := 12 * time.Second
	if os.Getenv("GC_SOAK_NUDGES") != "" {
		outage = time.Minute
	}
	p := provider(t, c.settings(strict, boxImage), "away", nil)
	start(t, p, "a", runtime.Config{Command: "echo I am $$; exec cat"})
	shows(t, p, "a", "I am")
	g := c.newCity(t, town)
	g.must(t, "start")
	g.nudges(t, "pod", "before it")

	c.Kill(k8snode.APIServer)
	over := time.After(outage)
	eventually(t, time.Minute, func() error {
		if _, err := p.IsRunning(t.Context(), "a"); !errors.Is(err, runtime.ErrBackendUnreachable) {
			return fmt.Errorf("IsRunning: %v", err)
		}
		return nil
	})
	if err := p.Start(t.Context(), "a", runtime.Config{Command: "exec cat"}); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("start: %v", err)
	}
	if err := p.Stop(t.Context(), "a"); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("stop: %v", err)
	}
	states := map[api.State]bool{}
	for tick, away := time.Tick(500*time.Millisecond), true; away; {
		states[g.agent(t, "pod").State] = true
		if running, err := p.IsRunning(t.Context(), "a"); !errors.Is(err, runtime.ErrBackendUnreachable) {
			t.Fatalf("IsRunning: %v, %v", running, err)
		}
		select {
		case <-tick:
		case <-over:
			away = false
		}
	}
	delete(states, api.StateRunning)
	if unknown := states[api.StateUnknown]; len(states) > 1 || len(states) == 1 && !unknown || outage >= time.Minute && !unknown {
		t.Errorf("the city said %v", states)
	}
	if err := c.Run(k8snode.APIServer); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitAPI(t.Context()); err != nil {
		t.Fatal(err)
	}

	eventually(t, soon, func() error {
		running, err := p.IsRunning(t.Context(), "a")
		if err == nil && !running {
			t.Fatal("the session is gone")
		}
		return err
	})
	eventually(t, soon, func() error { // without a call
		held, _ := p.Held()
		if l := held["a"]; l == nil || l.State().Is != link.Up {
			return fmt.Errorf("the stream: %+v", held)
		}
		return nil
	})
	eventually(t, time.Minute, func() error { _, err := p.Nudge(t.Context(), "a", runtime.TextContent("still there")); return err })
	shows(t, p, "a", "still there")
	g.nudges(t, "pod", "after it")
	g.until(t, "before it", "peek", "pod") // it is the same one
	if ag := g.becomes(t, "pod", api.StateRunning); ag.Restarts != 0 {
		t.Errorf("%d restarts", ag.Restarts)
	}
	if outage < time.Minute {
		return
	}

	c.Kill(k8snode.APIServer)
	<-time.After(45 * time.Second) // the outage
	if err := c.Run(k8snode.APIServer); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	g.must(t, "stop")
	if took := time.Since(begin); took > 2*soon {
		t.Errorf("a stop after the outage took %v", took)
	}
}

// soon is after the API server is back: the pauses between attempts are at most 2 s.
const soon = 10 * time.Second

// outlying is a city with an agent that stays where it is when its node is lost, and one
// that is replaced.
var outlying = inPods("outlying", `
[[agents]]
name = "stays"
session = "k8s"
start_command = "echo I am here; exec cat"
[[agents]]
name = "moves"
session = "k8s"
start_command = "echo I am here; exec cat"
[agents.k8s]
node_loss = "replace"
`)

// nodeLost: a kubelet that is started again changes nothing. A node that does not answer
// leaves its sessions unknown, or has them replaced where the settings say so.
func (c *cluster) nodeLost(t *testing.T) {
	g := c.newCity(t, outlying)
	g.must(t, "start")
	for _, name := range []string{"stays", "moves"} {
		g.nudges(t, name, "first")
	}
	c.Kill(k8snode.Kubelet)
	if err := c.Run(k8snode.Kubelet); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stays", "moves"} {
		g.nudges(t, name, "second")
		g.until(t, "first", "peek", name)
	}

	c.Kill(k8snode.Kubelet)
	g.becomes(t, "stays", api.StateUnknown)
	ag := g.becomes(t, "moves", api.StateStarting)
	if ag.LastExit == nil || !strings.Contains(ag.LastExit.Reason, "does not answer") || ag.Restarts != 0 {
		t.Errorf("moves: %+v, exit %+v", ag, ag.LastExit)
	}
	if ag := g.agent(t, "stays"); !strings.Contains(ag.Error, "does not answer") {
		t.Errorf("stays: %+v", ag)
	}
	if err := c.Run(k8snode.Kubelet); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.becomes(t, "stays", api.StateRunning)
	g.nudges(t, "stays", "third")
	g.until(t, "first", "peek", "stays")
	g.becomes(t, "moves", api.StateRunning)
	g.nudges(t, "moves", "third")
	if out := g.must(t, "peek", "moves"); strings.Contains(out, "first") {
		t.Errorf("it was not replaced: %q", out)
	}
}

// disrupted is a city with an agent that fills its volume, and one that uses too much memory.
var disrupted = inPods("disrupted", `
[[agents]]
name = "full"
session = "k8s"
start_command = "dd if=/dev/zero of=/workspace/f bs=1M count=4; exec cat"
[agents.k8s]
workspace = {size = "1Mi"}
[[agents]]
name = "hungry"
session = "k8s"
start_command = "sleep 1; exec tail /dev/zero"
[agents.k8s]
limits = {memory = "64Mi"}
`)

// disruptions: an eviction is told as such and does not count as a failure; a lack of memory
// is told as such, and counts.
func (c *cluster) disruptions(t *testing.T) {
	t.Parallel()
	g := c.newCity(t, disrupted)
	g.run("start") // it may fail: an agent ends at once
	eventually(t, 2*time.Minute, func() error {
		ag := g.agent(t, "full")
		if e := ag.LastExit; e == nil || !strings.HasPrefix(e.Reason, `Evicted: Usage of EmptyDir volume "workspace" exceeds the limit`) || !e.Disrupted {
			return fmt.Errorf("full: %+v, %+v", ag, e)
		}
		if ag.Restarts != 0 {
			t.Fatalf("an eviction counts: %+v", ag)
		}
		return nil
	})
	g.becomes(t, "full", api.StateRunning)
	ag := g.becomes(t, "hungry", api.StateQuarantined)
	if e := ag.LastExit; e == nil || e.Reason != "OOMKilled" || e.Disrupted || ag.Restarts == 0 {
		t.Errorf("hungry: %d restarts, exit %+v", ag.Restarts, e)
	}
	for _, want := range []string{"hungry crashed, SIGKILL (OOMKilled)", "full exited, SIGTERM (Evicted: Usage of EmptyDir"} {
		if out := g.must(t, "events"); !strings.Contains(out, want) {
			t.Errorf("no %q in the events:\n%s", want, out)
		}
	}
}
