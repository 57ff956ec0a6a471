//go:build e2e && k8s && linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/internal/testenv/k8snode"
)

const (
	podImage = "gc.local/box:1" // busybox without gc
	gcImage  = "gc.local/gc:1"  // by gc image build
	acpImage = "gc.local/acp:1" // busybox with this program, an agent over ACP
)

// cluster is a node with the images, a namespace with the manifests, and accounts.
type cluster struct {
	*testing.T
	node *k8snode.Node
	ctx  context.Context
}

// TestPods runs a city with agents in pods on a real node: only one runs on a machine.
func TestPods(t *testing.T) {
	placeWithPods(t)
	n, ctx := k8snode.Run(t, 20*time.Minute)
	c := &cluster{t, n, ctx}
	c.images()
	if err := n.Namespace(ctx, "agents", k8snode.Restricted); err != nil {
		t.Fatal(err)
	}
	t.Run("Manifests", func(t *testing.T) { (&cluster{t, n, ctx}).manifests() })
	c.kubectl("create", "serviceaccount", "-n", "agents", "nobody")
	// Each test of a city is parallel.
	t.Run("Denied", func(t *testing.T) { (&cluster{t, n, ctx}).denied() })
	t.Run("Doctor", func(t *testing.T) { (&cluster{t, n, ctx}).doctor() })
	t.Run("Push", func(t *testing.T) { (&cluster{t, n, ctx}).push() })
	t.Run("City", func(t *testing.T) { (&cluster{t, n, ctx}).city() })
	t.Run("Commands", func(t *testing.T) { (&cluster{t, n, ctx}).commands() })
	t.Run("Reports", func(t *testing.T) { (&cluster{t, n, ctx}).reports() })
	t.Run("Changes", func(t *testing.T) { (&cluster{t, n, ctx}).changes() })
	t.Run("Team", func(t *testing.T) { (&cluster{t, n, ctx}).team(t) })
	t.Run("ACP", func(t *testing.T) { (&cluster{t, n, ctx}).acp(t) })
	t.Run("Guide", func(t *testing.T) { (&cluster{t, n, ctx}).guide(t) })
	t.Run("Inside", func(t *testing.T) { (&cluster{t, n, ctx}).inside() })
}

// placeWithPods puts gc-k8s beside gc.
func placeWithPods(t *testing.T) {
	t.Helper()
	path := gcBin + "-k8s"
	if built := os.Getenv("GC_E2E_BIN"); built != "" {
		data, err := os.ReadFile(built + "-k8s")
		if err == nil {
			err = testenv.WriteProgram(path, data)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	build := exec.Command("go", "build", "-tags", "k8s", "-o", path, "gascity.dev/gc/cmd/gc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
}

func (c *cluster) images() {
	c.Helper()
	file := filepath.Join(c.TempDir(), "gc.tar")
	build := exec.Command(gcBin, "image", "build", "--controller", "--tag", gcImage, "--output", file)
	if out, err := build.CombinedOutput(); err != nil {
		c.Fatalf("%v\n%s", err, out)
	}
	box, err := k8snode.Busybox(c.ctx, podImage)
	if err == nil {
		err = c.node.Import(c.ctx, box)
	}
	if err == nil {
		box.Name, box.Files["bin/agent"] = acpImage, c.staticSelf()
		err = c.node.Import(c.ctx, box)
	}
	if err == nil {
		err = c.node.ImportFile(c.ctx, file)
	}
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) kubectl(args ...string) string {
	c.Helper()
	out, err := c.node.Kubectl(c.ctx, args...).CombinedOutput()
	if err != nil {
		c.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// manifests are accepted by the API server as they are.
func (c *cluster) manifests() {
	files, err := filepath.Glob("../contrib/k8s/*.yaml")
	if err != nil || len(files) != 3 {
		c.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "controller.yaml") {
			c.kubectl("apply", "--dry-run=server", "-n", "agents", "-f", file)
			continue
		}
		c.kubectl("apply", "-n", "agents", "-f", file)
	}
}

// account returns the client configuration of a service account of the namespace.
func (c *cluster) account(name string) string {
	c.Helper()
	data, err := os.ReadFile(c.node.Kubeconfig)
	if err != nil {
		c.Fatal(err)
	}
	file := filepath.Join(c.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		c.Fatal(err)
	}
	token := c.kubectl("create", "token", "-n", "agents", name)
	of := c.kubectl("config", "view", "-o", "jsonpath={.clusters[0].name}")
	for _, args := range [][]string{
		{"set-credentials", name, "--token=" + token}, {"set-context", "test", "--cluster=" + of, "--user=" + name}, {"use-context", "test"},
	} {
		c.kubectl(append([]string{"--kubeconfig", file, "config"}, args...)...)
	}
	return file
}

// podCity is the config of a city with two agents in pods and one on this machine.
func podCity(kubeconfig string) string {
	return inPods(kubeconfig) +
		"[[agents]]\nname = \"far\"\nsession = \"k8s\"\nready_prompt_prefix = \"ready>\"\nstart_command = \"exec sh -i\"\nenv = {PS1 = \"ready>\"}\n" +
		"[[agents]]\nname = \"job\"\nsession = \"k8s\"\nstart_command = \"exec sleep 1000\"\n" +
		"[[agents]]\nname = \"near\"\nstart_command = \"exec sleep 1000\"\n"
}

// inPods is the table of the pods of a city.
func inPods(kubeconfig string) string {
	return "[session.k8s]\nkubeconfig = \"" + kubeconfig + "\"\nnamespace = \"agents\"\nimage = \"" + podImage + "\"\ngc_image = \"" + gcImage + "\"\n" +
		"requests = {cpu = \"10m\", memory = \"16Mi\"}\n"
}

// pods returns a field of the pods whose names contain a text.
func (c *cluster) pods(text, field string) (all []string) {
	c.Helper()
	list := c.kubectl("get", "pods", "-n", "agents", "-o", `jsonpath={range .items[*]}{.metadata.name} {`+field+`}{"\n"}{end}`)
	for line := range strings.Lines(list) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(name, text) {
			all = append(all, value)
		}
	}
	return all
}

// denied: gc doctor k8s names each permission that is missing.
func (c *cluster) denied() {
	city := newCity(c.T, podCity(c.account("nobody")))
	r := city.run("--city", city.path, "doctor", "k8s")
	for _, missing := range []string{"create pods", "patch pods", "get pods/exec", "create pods/exec", "get pods/log", "watch events", "get namespaces"} {
		if !strings.Contains(r.out, missing) {
			c.Errorf("%q is not named", missing)
		}
	}
	if r.code != 1 {
		c.Errorf("%s", r)
	}
}

// doctor: if none is missing, gc doctor k8s starts a pod and deletes it.
func (c *cluster) doctor() {
	city := newCity(c.T, podCity(c.account("gc-controller")))
	if r := city.run("--city", city.path, "doctor", "k8s"); r.code != 0 || !strings.Contains(r.out, podImage+" runs gc after") || !strings.Contains(r.out, `Pod Security level "restricted"`) {
		c.Errorf("%s", r)
	}
	if left := c.pods("-doctor-", ".metadata.name"); len(left) > 0 {
		c.Errorf("left behind: %s", left)
	}
}

// city is used as any other, with the permissions of the role alone.
func (c *cluster) city() {
	city := newCity(c.T, podCity(c.account("gc-controller")))
	city.gc("start", city.path)
	city.becomes(map[string]cityapi.State{"far": cityapi.StateRunning, "job": cityapi.StateRunning, "near": cityapi.StateRunning})
	own := func(field string) []string {
		return append(c.pods("-live-far-", field), c.pods("-live-job-", field)...)
	}
	before := own(".metadata.uid")
	host := city.agents()["far"].Host
	if name, ok := strings.CutPrefix(host, "k8s:"); !ok || len(c.pods(name, ".metadata.name")) != 1 || len(before) != 2 {
		c.Errorf("host of far: %q; %d pods", host, len(before))
	}
	if out := city.gc("--city", city.path, "events"); !strings.Contains(out, "far started") || !strings.Contains(out, "on "+host) {
		c.Errorf("%s", out)
	}
	city.gc("--city", city.path, "wait", "far", "--timeout", "30s", "--until", "text=^ready>")
	if r := city.run("--city", city.path, "nudge", "far", "echo $((40 + 2)) in $PWD as $(id -u)."); r.code != 0 {
		c.Errorf("%s", r)
	}
	city.gc("--city", city.path, "wait", "far", "--timeout", "30s", "--until", "text=^42 in /workspace as 1000\\.")
	if out := city.gc("--city", city.path, "peek", "far"); !strings.Contains(out, "42 in /workspace") {
		c.Errorf("%s", out)
	}
	p := city.sit(100, 30, "--city", city.path, "attach", "far")
	p.sees(`^42 in`)
	p.types("echo typed $((1 + 1))\r")
	p.sees(`^typed 2`)
	p.types("\x02[")
	p.sees(`copy mode: q leaves`)
	p.types("?42 in /workspace\r0v$y")
	p.copied("42 in /workspace as 1000.")
	p.types("echo typed $((2 + 2))\r")
	p.sees(`^typed 4`)
	p.types("\x02d")
	if code := p.done(); code != 0 {
		c.Errorf("attach: exit %d", code)
	}

	// What a program there says to its city arrives once.
	city.gc("--city", city.path, "nudge", "far", "/gc/gc nudge near 'from far'")
	eventually(c.T, func() string { return city.gc("--city", city.path, "peek", "far") }, func() bool {
		return strings.Contains(city.gc("--city", city.path, "nudge", "list")+city.gc("--city", city.path, "peek", "near"), "from far")
	})

	// A controller that was killed is followed by one that adopts.
	city.killController()
	city.gc("start", city.path)
	city.becomes(map[string]cityapi.State{"far": cityapi.StateRunning, "job": cityapi.StateRunning, "near": cityapi.StateRunning})
	if after := own(".metadata.uid"); !slices.Equal(after, before) {
		c.Errorf("pods %s, before %s\n%s", after, before, city.gc("--city", city.path, "events"))
	}
	city.gc("stop", "--city", city.path)
	eventually(c.T, func() string { return c.kubectl("get", "pods", "-n", "agents") }, func() bool {
		return len(own(".metadata.uid")) == 0
	})
}
