//go:build e2e && k8s && linux

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
)

// volume is where the controller in the cluster keeps its city: as a volume is mounted for
// a pod with a group.
const volume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: city}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: DIR}
`

// inside: the controller in the cluster, with the permissions of the role alone, runs a city
// there. Deleted, it is followed by one that adopts the agent; stopped, by one that starts it anew.
func (c *cluster) inside() {
	c.Parallel()
	c.placeController()
	c.coderRuns()
	c.inController("nudge", "coder", "echo first $((40 + 2))")
	shows := func(text string) {
		c.Helper()
		within(c.T, time.Minute, func() string { return c.inController("peek", "coder") }, func() bool { return strings.Contains(c.inController("peek", "coder"), text) })
	}
	shows("first 42")
	agent := func() string { return strings.Join(c.pods("gc-town-coder-", ".metadata.uid"), " ") }
	controller := func() string { return strings.Join(c.pods("gc-controller-0", ".metadata.uid"), " ") }
	had, was := agent(), controller()
	c.kubectl("delete", "pod", "-n", "agents", "gc-controller-0", "--wait=true")
	within(c.T, time.Minute, controller, func() bool { return controller() != "" && controller() != was })
	c.coderRuns()
	c.inController("nudge", "coder", "echo second $((40 + 3))")
	shows("second 43")
	shows("first 42")
	if now := agent(); now != had || had == "" {
		c.Errorf("the agent's pod was %s and is %s", had, now)
	}
	if events := c.inController("events"); !strings.Contains(events, "coder adopted") {
		c.Errorf("no adoption in\n%s", events)
	}
	c.inController("stop") // the cluster starts its controller again, which starts the agents anew
	within(c.T, time.Minute, agent, func() bool { return agent() != had })
	c.coderRuns()
}

// placeController applies the manifest with the images and a volume of this node.
func (c *cluster) placeController() {
	data, err := os.ReadFile("../contrib/k8s/controller.yaml")
	if err != nil {
		c.Fatal(err)
	}
	dir := c.TempDir()
	if err := errors.Join(os.Chown(dir, 0, 1000), os.Chmod(dir, os.ModeSetgid|0o775)); err != nil {
		c.Fatal(err)
	}
	text := strings.NewReplacer("registry.example/gc:1", gcImage, "node:22", podImage).Replace(string(data)) +
		"---" + strings.Replace(volume, "DIR", dir, 1)
	file := filepath.Join(c.TempDir(), "controller.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	c.kubectl("apply", "-n", "agents", "-f", file)
}

// inController runs gc in the controller's pod, as the manifest says.
func (c *cluster) inController(args ...string) string {
	out, err := c.node.Kubectl(c.ctx, append([]string{"exec", "-n", "agents", "gc-controller-0", "--", "/usr/local/bin/gc"}, args...)...).CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

// coderRuns waits until the city's agent runs.
func (c *cluster) coderRuns() {
	c.Helper()
	said := ""
	within(c.T, time.Minute, func() string {
		log, _ := c.node.Kubectl(c.ctx, "logs", "-n", "agents", "gc-controller-0").CombinedOutput() // it may not be there
		return said + "\n" + string(log)
	}, func() bool {
		said = c.inController("status", "--json")
		var s cityapi.Status
		if json.Unmarshal([]byte(said), &s) != nil {
			return false
		}
		for _, a := range s.Agents {
			if a.Name == "coder" && a.State == cityapi.StateRunning && strings.HasPrefix(a.Host, "k8s:") {
				return true
			}
		}
		return false
	})
}
